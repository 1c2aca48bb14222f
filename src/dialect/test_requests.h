// For tests: bodies with the padding that inspect() wants, and the captured requests of real clients with their
// placeholders written out as tests/data/captures/README.md says. No part of the library.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/header.h"
#include "core/rng.h"
#include "dialect/body.h"

namespace wg::dialect {

inline Result<BodyFacts> inspect_text(Api api, std::string_view text) {
  std::string padded(text);
  padded.append(body_padding, ' ');
  return inspect(api, std::string_view(padded).substr(0, text.size()));
}

inline BodyFacts facts_of(Api api, std::string_view text) {
  Result<BodyFacts> facts = inspect_text(api, text);
  EXPECT_TRUE(facts.has_value()) << (facts ? "" : facts.error().what) << "\n" << text.substr(0, 500);
  return facts ? std::move(*facts) : BodyFacts();
}

struct CapturedRequest {
  std::string name;  // scenario/seq
  Api api = Api::other;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // empty: none

  std::vector<Header> header_views() const {
    std::vector<Header> views;
    for (const auto& [field, value] : headers) views.push_back({field, value});
    return views;
  }
};

using OrderedJson = nlohmann::ordered_json;

// N characters that depend on the id alone, with the quotes and line ends of real text.
inline std::string written_out(std::size_t length, std::string_view id) {
  static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz etaoin shrdlu ETAOIN\n\"\\";
  Rng rng(xxh3(id));
  std::string text;
  while (text.size() < length)
    text += letters[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(letters.size()) - 1))];
  return text;
}

inline OrderedJson write_out(const OrderedJson& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::size_t length = 0;
    char id[13] = "";
    if (std::sscanf(text.c_str(), "«%zu chars, id %12[0-9a-f]»", &length, id) != 2) return value;
    return written_out(length, id);
  }
  OrderedJson out = value;
  if (value.is_object() && value.contains("json_bytes")) {  // a tool: only name, type and size were kept
    out.erase("json_bytes");
    const auto size = value["json_bytes"].get<std::size_t>();
    const std::size_t so_far = out.dump().size() + 20;
    out["description"] = size > so_far ? std::string(size - so_far, 'd') : "";
  } else if (value.is_structured()) {
    for (auto it = out.begin(); it != out.end(); ++it) *it = write_out(*it);
  }
  return out;
}

inline std::vector<CapturedRequest> load_captures(const std::string& client) {
  std::ifstream file(std::string(WG_TEST_DATA) + "/captures/" + client + ".jsonl");
  EXPECT_TRUE(file.good()) << client;
  std::vector<CapturedRequest> requests;
  for (std::string line; std::getline(file, line);) {
    const OrderedJson record = OrderedJson::parse(line);
    if (!record["body"].is_object()) continue;
    CapturedRequest request;
    request.name = record["scenario"].get<std::string>() + "/" + std::to_string(record["seq"].get<int>());
    const auto url = record["url"].get<std::string>();
    request.api = api_of(url.substr(0, url.find('?')));
    for (const auto& pair : record["headers"])
      request.headers.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
    request.body = write_out(record["body"]).dump();
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace wg::dialect
