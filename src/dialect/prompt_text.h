// What of a request becomes prompt: how many bytes of text, and the digests by which a conversation is known when no id
// names it. Fed with the values of a body's members, in any order; reads them where they lie.
// Made, used and dropped with one cursor by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/billing_line.h"
#include "dialect/content_digest.h"
#include "dialect/json_cursor.h"

namespace wg::dialect {

class PromptText {
 public:
  explicit PromptText(JsonCursor& cursor) : cursor_(cursor) {}

  // Each takes the cursor's next value.
  void system();  // "system" of messages, "instructions" of responses: a string or text blocks
  void items();   // "messages", and "input" of responses: a string or items
  void prompt();  // "prompt" of completions: a string, token ids, or an array of either
  void tools();

  // The facts on clients, 1.2: model, system texts without the billing line, and every item before the first one that a
  // model made. Text blocks are joined, so a string and a list of blocks hash alike; cache_control, ids and tool JSON
  // are left out; of images and files only length and ends are hashed. A completion's prompt grows at its end: only its
  // first 1,024 bytes count. Zero if there is no text.
  SessionKey fingerprint(std::string_view model) const;
  SessionKey head() const;  // system texts, system items at the start, tools; zero if none

  std::int64_t text_bytes() const { return text_bytes_; }
  bool has_tools() const { return has_tools_; }
  bool has_answer() const { return hashed_part_ended_; }  // the model has spoken before
  std::string opening() const;                            // about the first kilobyte of system and user text
  std::vector<Span>& billing_lines() { return billing_lines_; }

 private:
  bool system_block();
  bool system_string();
  void item();
  void value(std::string* sink);
  void member(std::string_view key, std::string* sink);
  void media(std::string* sink);
  void text(std::string_view raw, std::string* sink);

  JsonCursor& cursor_;
  std::int64_t text_bytes_ = 0;
  std::string system_text_, item_text_, prompt_start_, opening_;
  ContentDigest items_, leading_system_, tools_;
  bool has_item_text_ = false, has_leading_system_ = false, has_tools_ = false;
  bool is_leading_ = true;          // only system items so far
  bool hashed_part_ended_ = false;  // at the first item that a model made
  std::vector<Span> billing_lines_;
};

}  // namespace wg::dialect
