// Answers that go wrong as ordered: what each kind of fault does to a request's bytes. Internal to replica/.
// Owner: the request's coroutine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/task.h"
#include "replica/generation.h"

namespace wg::replica {

inline bool is(const Generation& job, FaultKind kind) { return job.hit && job.hit->kind == kind; }
bool breaks_in_mid_stream(const Generation& job);
bool breaks_whole_body(const Generation& job);

// Writes it all; false: the client or the connection is gone.
net::Task<bool> write_piece(Connection& me, const std::string& bytes);
// One HTTP chunk; `claimed` is the size that it says.
std::string chunk_of(std::string_view bytes, std::size_t claimed);
inline std::string chunk_of(std::string_view bytes) { return chunk_of(bytes, bytes.size()); }

// Lets time pass until the client has left, or for `lasts` of the model's time.
net::Task<void> stall(Site& site, Connection& me, Flight& flight, std::optional<Duration> lasts);

// Before there is a head. False: the connection is done for.
net::Task<bool> break_before_head(Site& site, Connection& me, Generation& job);
// Another answer than the engine's, if that is the fault.
std::optional<Reply> instead_of_answer(const Generation& job);
// In the middle of a stream; `events` is the last that was to be said. False: the connection is done for.
net::Task<bool> break_stream(Site& site, Connection& me, Generation& job, const std::string& events);
void die_as_group(Site& site, const Generation& job);
// Instead of writing `reply`. True: all of it was written in the end.
net::Task<bool> write_broken(Site& site, Connection& me, Generation& job, const Reply& reply);

}  // namespace wg::replica
