// What happens when there is no memory left: the reserve goes first, and a loop outlives the handler that found none.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "core/reserve.h"
#include "net/loop.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WG_SANITIZED
#elif defined(__has_feature)  // clang's way to say it
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WG_SANITIZED
#endif
#endif

namespace wg::net {
namespace {

// In a process of its own: the address space is limited and the allocation handler set.
void use_up_the_memory() {
  const rlimit limit{512u << 20, 512u << 20};
  if (setrlimit(RLIMIT_AS, &limit) != 0 || !reserve::hold(64u << 20)) std::exit(1);
  constexpr std::size_t piece = 8u << 20;
  std::vector<std::unique_ptr<char[]>> taken;
  while (!reserve::spent()) taken.push_back(std::make_unique<char[]>(piece));
  taken.push_back(std::make_unique<char[]>(piece));  // out of the reserve
  if (reserve::hold(64u << 20)) std::exit(2);        // there is still none
  bool thrown = false;
  try {
    for (int i = 0; i < 100; ++i) taken.push_back(std::make_unique<char[]>(piece));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  taken.clear();
  std::exit(thrown && reserve::hold(64u << 20) && !reserve::spent() ? 0 : 3);
}

TEST(ReserveDeathTest, IsGivenUpFirstAndHeldAgain) {
#ifdef WG_SANITIZED
  GTEST_SKIP() << "the sanitizer needs more address space than that";
#endif
  EXPECT_EXIT(use_up_the_memory(), testing::ExitedWithCode(0), "");
}

TEST(OutOfMemory, ALoopOutlivesTheHandlerThatFoundNone) {
  Loop loop;
  bool went_on = false;
  const std::uint64_t before = reserve::losses;
  loop.post([] { throw std::bad_alloc(); });
  loop.post([&] {
    went_on = true;
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(went_on);
  EXPECT_EQ(reserve::losses, before + 1);
}

}  // namespace
}  // namespace wg::net
