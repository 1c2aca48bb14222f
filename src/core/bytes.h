// A growing byte buffer that does not zero what is about to be read into, and keeps readable padding behind its end for
// parsers that load whole words. Move-only. Owner: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace wg {

class Bytes {
 public:
  static constexpr std::size_t padding = 64;

  Bytes() = default;
  Bytes(Bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Bytes() { std::free(data_); }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_, size_}; }
  std::string_view view(std::size_t from) const { return {data_ + from, size_ - from}; }

  // Room for at least `size` more bytes behind the end; say with grown() how many were written there.
  std::span<char> room(std::size_t size) {
    if (capacity_ - size_ < size) reserve(std::max(size_ + size, capacity_ * 2));
    return {data_ + size_, capacity_ - size_};
  }
  void grown(std::size_t size) { size_ += size; }

  void append(std::string_view bytes) {
    const std::span<char> target = room(bytes.size());
    // The source may be a later part of this very buffer (chunks being joined in place).
    if (!bytes.empty() && bytes.data() != target.data()) std::memmove(target.data(), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void clear() { size_ = 0; }
  void drop_front(std::size_t size) {
    std::memmove(data_, data_ + size, size_ - size);
    size_ -= size;
  }
  void release() { *this = Bytes(); }

 private:
  void reserve(std::size_t capacity) {
    char* const grown = static_cast<char*>(std::realloc(data_, capacity + padding));
    if (!grown) throw std::bad_alloc();
    std::memset(grown + capacity, 0, padding);
    data_ = grown;
    capacity_ = capacity;
  }

  char* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace wg
