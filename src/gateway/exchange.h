// One request on its way through the gateway, and the stages it passes, in this order (docs/life-of-a-request.md):
//   read -> paths/local -> inspect -> decide (brain) -> forward -> relay -> account
// Everything that a stage finds out is put here. Lives in exchange()'s coroutine, on the client's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "dialect/answer.h"
#include "dialect/body.h"
#include "dialect/edit.h"
#include "dialect/session.h"
#include "gateway/connection.h"
#include "gateway/paths.h"
#include "gateway/upstream.h"
#include "http/sse.h"
#include "net/dial.h"
#include "record/request_log.h"

namespace wg::gateway {

// What becomes of the client's connection after an answer.
enum class After { keep, close };

class SignsOfLife;

struct Exchange {
  Exchange(Connection& its_connection, const http::RequestHead& its_head);

  Connection& connection;
  LoopContext& context;
  Shared& shared;
  const http::RequestHead& head;
  PathRule rule;
  dialect::Shape shape;
  TimePoint arrived;

  // inspect
  std::shared_ptr<const Directory> directory;
  dialect::BodyFacts facts;
  dialect::Session session;
  PoolIndex pool = 0;
  RequestId id = 0;
  std::string request_id;

  // decide and forward
  fleet::Dispatch dispatch;
  dialect::Splices edits;
  bool added_include_usage = false;
  std::unique_ptr<Upstream> upstream;
  TimePoint dispatched{};
  net::Dial* dialling = nullptr;  // what a client that leaves must interrupt
  bool client_gone = false;
  bool undecided = false;        // the brain has been asked and has not answered
  SignsOfLife* signs = nullptr;  // while the client may have to be kept company

  // relay
  dialect::AnswerReader reader;
  http::SseScanner scanner;
  bool committed = false;  // a response head is out
  bool chunked = false;    // ... and its body goes in chunks
  bool keep_alive = true;
  std::optional<TimePoint> first_content;
  std::uint64_t bytes_out = 0;
  int status = 0;
  bool response_told = false;
  bool saw_last_event = false;  // of a stream: [DONE] and the like, a finish reason, or an error instead
  bool body_read = false;
  bool in_pool = false;            // x.pool was found out
  bool upstream_answered = false;  // x.upstream holds an answer that may be passed on

  record::RequestRecord record;

  const ReplicaEntry& replica() const { return directory->replicas[dispatch.replica]; }
  const EngineEntry& engine() const { return directory->engines[replica().engine]; }
  void leave();  // the client has gone: interrupts whatever is pending upstream
};

}  // namespace wg::gateway
