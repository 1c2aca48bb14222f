// Memory held back for the worst moment: when an allocation fails the reserve is given up first, so that what is under
// way can end in an orderly manner, and spent() tells everybody to take on nothing new until it is held again.
// Thread-safe; one reserve for the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace wg::reserve {

// Holds so many bytes from now on, and installs the handler that gives them up. Again after they were spent: tries to
// hold them once more. False if there is not enough memory for that.
bool hold(std::size_t bytes);
bool spent();

// Work that was lost because even so no memory was left. Counted by whoever caught std::bad_alloc.
inline std::atomic<std::uint64_t> losses{0};

}  // namespace wg::reserve
