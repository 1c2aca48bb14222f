// Memory of coroutine frames, used again: a stream makes a few short-lived coroutines per event, always of the same
// sizes. Bounded per size; frames of unusual sizes come from the heap, and with a sanitizer all of them do.
// One pool a thread: a frame given back on another thread serves that one from then on.
#pragma once

#include <cstddef>

namespace wg::net {

void* take_frame(std::size_t bytes);  // throws std::bad_alloc
void give_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace wg::net
