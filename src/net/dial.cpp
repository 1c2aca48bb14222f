#include "net/dial.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <vector>

#include "net/stream_state.h"

namespace wg::net {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Says nothing about who was to be reached.
IoError what_failed(const boost::system::error_code& error) {
  const bool exhausted = error == asio::error::no_descriptors || error == asio::error::no_memory ||
                         error == boost::system::errc::too_many_files_open_in_system || error.value() == EADDRNOTAVAIL;
  return exhausted ? IoError::exhausted : IoError::refused;
}

}  // namespace

struct Dial::State : std::enable_shared_from_this<Dial::State> {
  State(Loop& its_loop, const std::string& its_host, std::uint16_t its_port, Duration its_timeout)
      : loop(its_loop),
        host(its_host),
        port(its_port),
        timeout(its_timeout),
        resolver(loop.state().io),
        socket(loop.state().io),
        deadline(loop, [this] { interrupt(IoError::timed_out); }) {}

  void start() {
    deadline.set(timeout);
    boost::system::error_code error;
    const auto address = asio::ip::make_address(host, error);
    if (!error) return connect({tcp::endpoint(address, port)});
    resolver.async_resolve(
        host, std::to_string(port),
        [self = shared_from_this()](const boost::system::error_code& failed, const tcp::resolver::results_type& found) {
          if (self->is_over) return;
          if (failed) return self->end(tl::unexpected(what_failed(failed)));
          std::vector<tcp::endpoint> addresses;
          for (const auto& entry : found) addresses.push_back(entry.endpoint());
          self->connect(std::move(addresses));
        });
  }

  // One after the other until one takes it. By hand, since asio::async_connect says "aborted" where no socket could be
  // opened, which is our own lack and not the engine's.
  void connect(std::vector<tcp::endpoint> found) {
    endpoints = std::move(found);
    connect_to(0);
  }

  void connect_to(std::size_t index) {
    boost::system::error_code error;
    socket.close(error);
    socket.open(endpoints[index].protocol(), error);
    if (error)  // later: nobody is resumed inside await_suspend()
      return asio::post(loop.state().io, [self = shared_from_this(), index, error] { self->tried(index, error); });
    socket.async_connect(
        endpoints[index],
        [self = shared_from_this(), index](const boost::system::error_code& outcome) { self->tried(index, outcome); });
  }

  void tried(std::size_t index, const boost::system::error_code& error) {
    if (is_over) return;
    if (!error) return end(Stream(new Stream::State(loop, std::move(socket))));
    const IoError why = what_failed(error);
    if (why == IoError::exhausted || index + 1 == endpoints.size()) return end(tl::unexpected(why));
    connect_to(index + 1);
  }

  void interrupt(IoError why) {
    if (is_over) return;
    boost::system::error_code ignored;
    resolver.cancel();
    socket.close(ignored);
    end(tl::unexpected(why));
  }

  void end(IoResult<Stream> outcome) {
    is_over = true;
    deadline.cancel();
    result = std::move(outcome);
    if (const auto waiting = std::exchange(waiter, nullptr)) waiting.resume();
  }

  Loop& loop;
  std::string host;
  std::uint16_t port;
  Duration timeout;
  tcp::resolver resolver;
  tcp::socket socket;
  std::vector<tcp::endpoint> endpoints;
  Timer deadline;
  std::coroutine_handle<> waiter;
  IoResult<Stream> result = tl::unexpected(IoError::cancelled);
  bool is_over = false;
};

bool is_address(const std::string& host) {
  boost::system::error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

Dial::Dial(Loop& loop, const std::string& host, std::uint16_t port, Duration timeout)
    : state_(std::make_shared<State>(loop, host, port, timeout)) {}

Dial::~Dial() {
  state_->waiter = nullptr;
  state_->interrupt(IoError::cancelled);
}

void Dial::await_suspend(std::coroutine_handle<> self) {
  state_->waiter = self;
  state_->start();
}

IoResult<Stream> Dial::await_resume() { return std::move(state_->result); }

void Dial::cancel() { state_->interrupt(IoError::cancelled); }

}  // namespace wg::net
