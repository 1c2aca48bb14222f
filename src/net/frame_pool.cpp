#include "net/frame_pool.h"

#include <array>
#include <new>

namespace wg::net {
namespace {

#ifndef __has_feature  // clang's word for it
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
constexpr bool pooled = false;  // or a use after the end would go unseen
#else
constexpr bool pooled = true;
#endif

constexpr std::size_t step = 64;  // sizes are rounded up to this
constexpr std::size_t sizes = 32;
constexpr std::size_t most_kept = 64;  // of each size: 2 MiB in all

class Pool {
 public:
  Pool() = default;
  ~Pool() {
    for (Shelf& shelf : shelves_) {
      while (shelf.count > 0) ::operator delete(shelf.frames[--shelf.count]);
      shelf.closed = true;
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* take(std::size_t size) {
    Shelf& shelf = shelves_[size];
    return shelf.count > 0 ? shelf.frames[--shelf.count] : ::operator new((size + 1) * step);
  }
  void give(void* frame, std::size_t size) noexcept {
    Shelf& shelf = shelves_[size];
    if (shelf.closed || shelf.count == most_kept)
      ::operator delete(frame);
    else
      shelf.frames[shelf.count++] = frame;
  }

 private:
  struct Shelf {
    std::array<void*, most_kept> frames;
    std::size_t count = 0;
    bool closed = false;  // the thread ends; what comes back now goes to the heap
  };
  std::array<Shelf, sizes> shelves_;
};

thread_local Pool pool;

}  // namespace

void* take_frame(std::size_t bytes) {
  const std::size_t size = (bytes - 1) / step;
  return pooled && size < sizes ? pool.take(size) : ::operator new(bytes);
}

void give_frame(void* frame, std::size_t bytes) noexcept {
  const std::size_t size = (bytes - 1) / step;
  if (pooled && size < sizes)
    pool.give(frame, size);
  else
    ::operator delete(frame);
}

}  // namespace wg::net
