#include "net/listener.h"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>

#include "net/stream_state.h"

namespace wg::net {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {
constexpr Duration calm_after = std::chrono::seconds(2);
}

struct Listener::State : std::enable_shared_from_this<Listener::State> {
  State(Loop& its_loop)
      : loop(its_loop), acceptor(loop.state().io), retry(loop, [this] { accept(); }), calm(loop, [this] { over(); }) {}

  void accept() {
    acceptor.async_accept(loop.state().io,
                          [self = shared_from_this()](const boost::system::error_code& error, tcp::socket socket) {
                            if (!self->acceptor.is_open() || error == asio::error::operation_aborted) return;
                            if (error) return self->pause("cannot accept connections: " + error.message());
                            if (self->paused && !self->calm.armed()) self->calm.set(calm_after);
                            try {
                              self->accepted(Stream(new Stream::State(self->loop, std::move(socket))));
                              self->accept();
                            } catch (const std::bad_alloc&) {
                              self->pause("cannot accept connections: out of memory");
                            }
                          });
  }

  // Said once; until it is over, which takes more than one success, there is nothing new to say.
  void pause(const std::string& why) {
    calm.cancel();
    if (!std::exchange(paused, true)) trouble(why + "; trying again every 100 ms");
    retry.set(std::chrono::milliseconds(100));
  }
  void over() {
    paused = false;
    trouble("connections are accepted again");
  }

  Loop& loop;
  tcp::acceptor acceptor;
  Timer retry, calm;
  Accepted accepted;
  Trouble trouble;
  bool paused = false;
};

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}
Listener::Listener(Listener&&) noexcept = default;
Listener::~Listener() {
  if (state_) stop();
}

Result<Listener> Listener::bind(Loop& loop, const std::string& host, std::uint16_t port, bool shared) {
  auto state = std::make_shared<State>(loop);
  boost::system::error_code error;
  tcp::resolver resolver(loop.state().io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  const std::string where = host + ":" + std::to_string(port);
  if (error) return fail(Fault::self, "cannot listen on " + where + ": " + error.message());
  const tcp::endpoint endpoint = *found.begin();
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  const int on = 1;
  if (!error && shared) ::setsockopt(state->acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (!error) state->acceptor.bind(endpoint, error);
  if (!error) state->acceptor.listen(4096, error);
  if (error) return fail(Fault::self, "cannot listen on " + where + ": " + error.message());
  return Listener(std::move(state));
}

std::uint16_t Listener::port() const { return state_->acceptor.local_endpoint().port(); }

void Listener::start(Accepted accepted, Trouble trouble) {
  state_->accepted = std::move(accepted);
  state_->trouble = std::move(trouble);
  state_->accept();
}

void Listener::stop() {
  boost::system::error_code ignored;
  state_->retry.cancel();
  state_->calm.cancel();
  state_->acceptor.close(ignored);
}

}  // namespace wg::net
