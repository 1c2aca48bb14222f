// All that one simulated server is while it lives: its ranks, its listener, its connections, and whether it is up,
// dying or down. Internal to replica/. Owner: one loop.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/bounded_map.h"
#include "core/bytes.h"
#include "http/h1.h"
#include "net/listener.h"
#include "net/task.h"
#include "replica/ask.h"
#include "replica/faults.h"
#include "replica/group.h"
#include "replica/server.h"

namespace wg::replica {

struct Connection {
  explicit Connection(net::Stream accepted);
  net::Stream stream;
  http::RequestParser parser;
  Bytes input;
  std::string body;          // of the request being answered
  Flight* flight = nullptr;  // while a request of it is in the engine
  bool gone = false;         // the client has left, or the server
  bool is_admin = false;     // answers an order about faults: outlives the fault
};

struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// A response that can be asked for again, and be gone on from.
struct StoredResponse {
  std::string body;
  std::vector<Message> messages;  // the whole conversation, the answer included
};

std::int64_t unix_seconds();

enum class Life : std::uint8_t { up, dying, down, stopped };

struct Site : std::enable_shared_from_this<Site> {
  Site(net::Loop& its_loop, const Options& its_options);

  Result<void> start();
  void stop();
  // What the orders about the whole server do; `down_for` on the model's clock.
  void carry_out(const FaultOrder& order);
  void die_group(std::uint32_t killed, Duration down_for);
  void go_down(Duration down_for, std::string next_model);
  std::string new_id();  // 16 hex digits

  net::Loop& loop;
  Options options;
  std::string model;
  Group group;
  Faults faults;
  std::unique_ptr<net::Listener> listener;
  std::uint16_t port = 0;
  Life life = Life::up;
  std::list<Connection*> connections;
  BoundedMap<std::string, StoredResponse> responses{256};
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::uint64_t>>
      http_requests;      // handler, method; status
  std::int64_t load = 0;  // requests being answered
  std::int64_t started_at = unix_seconds();

 private:
  Result<void> listen();
  void cut_connections(bool idle_only = false);
  void come_back();

  net::Timer life_timer_;
  std::uint64_t ids_ = 0;
  Duration then_down_for_{};
  std::string next_model_;
};

net::Task<void> serve(std::shared_ptr<Site> site, net::Stream accepted);
net::Task<bool> generate(Site& site, Connection& me, dialect::Api api);
Reply local_answer(Site& site, Connection& me);  // of all paths that need no engine

// The bytes of a head, as uvicorn writes it; no content_length: chunks.
std::string head_of(const Reply& reply, std::optional<std::size_t> content_length, bool keep_alive);
void count_request(Site& site, const Connection& me, int status);  // for the metrics page
// Counts and writes it; true if the connection can go on.
net::Task<bool> write_reply(Site& site, Connection& me, const Reply& reply);

}  // namespace wg::replica
