#include "core/reserve.h"

#include <cstdlib>
#include <new>

namespace wg::reserve {
namespace {

std::atomic<void*> held{nullptr};
std::atomic<bool> is_spent{false};

void give_up() {
  void* const reserve = held.exchange(nullptr);
  if (!reserve) throw std::bad_alloc();
  is_spent = true;
  std::free(reserve);
}

}  // namespace

bool hold(std::size_t bytes) {
  if (held) return true;
  void* const reserve = std::malloc(bytes);
  if (!reserve) return false;
  held = reserve;
  is_spent = false;
  std::set_new_handler(give_up);
  return true;
}

bool spent() { return is_spent.load(std::memory_order_relaxed); }

}  // namespace wg::reserve
