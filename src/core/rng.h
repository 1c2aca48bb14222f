// A small seeded generator (xoshiro256++, Blackman and Vigna 2019): same seed, same numbers on every machine, which
// std:: distributions do not promise. Not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace wg {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) {
    for (auto& word : state_) {  // splitmix64, as its authors advise for seeding
      seed += 0x9E3779B97F4A7C15ull;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)
  // Uniform integer in [low, high]; needs low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace wg
