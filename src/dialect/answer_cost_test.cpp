// An event that carries only text costs no allocation, and not much time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <new>

#include "dialect/answer.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace wg::dialect {
namespace {

struct Row {
  Api api;
  std::string_view event;
};

constexpr Row rows[] = {
    {Api::chat,
     "data: "
     "{\"id\":\"chatcmpl-8f87ed7406bc5a57\",\"object\":\"chat.completion.chunk\",\"created\":1796030918,\"model\":"
     "\"tiny\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
     "stemming\"},\"logprobs\":null,\"finish_reason\":null,"
     "\"token_ids\":null}]}\n\n"},
    {Api::chat,
     "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\" of\"}}],\"created\":1796030236,"
     "\"id\":\"chatcmpl-Ypo9o8cH5Z0nRoQmu5LK6BEBRYxL27wg\",\"model\":\"smollm2-135m\",\"system_fingerprint\":"
     "\"b0-unknown\",\"object\":\"chat.completion.chunk\"}\n\n"},
    {Api::completions,
     "data: {\"id\":\"cmpl-9dc6e30af3f2121b\",\"object\":\"text_completion\",\"created\":1796031056,\"model\":\"tiny\","
     "\"choices\":[{\"index\":0,\"text\":\"JV\",\"logprobs\":null,\"finish_reason\":null,\"stop_reason\":null}]}\n\n"},
    {Api::messages,
     "event: content_block_delta\ndata: "
     "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
     "\"text\":\" capital\"}}\n\n"},
    {Api::responses,
     "event: response.output_text.delta\ndata: {\"content_index\":0,\"delta\":\"nu\",\"item_id\":"
     "\"msg_945c265b327d12e6\",\"logprobs\":[],\"output_index\":0,\"sequence_number\":4,\"type\":"
     "\"response.output_text.delta\"}\n\n"},
};

TEST(AnswerCost, TextEventsAllocateNothing) {
  for (const Row& row : rows) {
    AnswerReader reader(row.api);
    const std::size_t before = allocations;
    for (int i = 0; i < 10; ++i) ASSERT_EQ(reader.on_event(row.event).kind, EventKind::content) << row.event;
    EXPECT_EQ(allocations, before) << row.event;
  }
}

// A figure, not a limit.
TEST(AnswerCost, OfATextEvent) {
  for (const Row& row : rows) {
    AnswerReader reader(row.api);
    constexpr int rounds = 20'000;
    int contents = 0;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) contents += reader.on_event(row.event).kind == EventKind::content;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(contents, rounds);
    std::printf("on_event: %s, %zu bytes in %.0f ns\n", std::string(name_of(row.api)).c_str(), row.event.size(),
                took.count() / rounds);
  }
}

}  // namespace
}  // namespace wg::dialect
