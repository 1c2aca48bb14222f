#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "config/keys.h"
#include "config/scalar.h"

namespace wg::config {
namespace {

TEST(Keys, AreComplete) {
  std::set<std::string_view> paths;
  for (const Key& key : keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path << " twice";
    EXPECT_FALSE(key.meaning.empty()) << key.path;
    EXPECT_EQ(key.store == nullptr, key.kind == Kind::section) << key.path;
    EXPECT_LE(key.low, key.high) << key.path;
    EXPECT_FALSE(allowed(key).empty()) << key.path;
    EXPECT_EQ(key.meaning.find('|'), std::string_view::npos) << "would break the table: " << key.path;
    EXPECT_TRUE(key.kind != Kind::texts || key.acceptable != nullptr) << key.path;
  }
}

// Everything that the file can set, as text.
std::string everything(const Config& c) {
  std::string all = c.listen.text() + c.admin.text() + std::to_string(c.threads);
  const auto add = [&all](const auto& value) { all += ' ' + std::to_string(value); };
  for (const Pool& pool : c.pools) {
    all += pool.model + std::string(policy::name_of(pool.policy));
    add(pool.spill_threshold.value_or(99)), add(pool.spill_rehome), add(pool.aliases.size());
    for (const Engine& e : pool.engines)
      add(e.ranks.value_or(99)), add(e.max_num_seqs.value_or(99)), add(e.kv_tokens.value_or(Tokens{99}).count);
  }
  add(c.sessions.limit), add(c.sessions.active_for.count());
  all += c.sessions.key_header;
  add(c.limits.body), add(c.limits.headers), add(c.limits.connections);
  for (const Duration d : {c.timeouts.connect, c.timeouts.first_byte, c.timeouts.stream_idle, c.timeouts.drain,
                           c.timeouts.request_head, c.timeouts.request_body, c.timeouts.keep_alive,
                           c.timeouts.upstream_keep_alive, c.wait.commit_after, c.wait.ping_every})
    add(d.count());
  add(c.edits.model), add(c.edits.include_usage), add(c.edits.billing_line), add(c.paths.size());
  return all + c.log.format + c.log.file + c.log.level;
}

// Writing every documented default into the file changes nothing: config.h and the table agree.
TEST(Keys, DocumentedDefaultsAreTheRealOnes) {
  const std::string smallest = "pools: [{model: m, engines: [{url: http://h:1}]}]\n";
  const Loaded plain = load_text(smallest, "f");
  ASSERT_TRUE(plain.ok());
  Config explicit_one = plain.config;
  Place at{explicit_one, &explicit_one.pools[0], &explicit_one.pools[0].engines[0]};
  int written = 0;
  for (const Key& key : keys()) {
    if (key.fallback.empty() || key.fallback.front() == '[') continue;
    const auto value = read_scalar(key, std::string(key.fallback));
    ASSERT_TRUE(value) << key.path << ": " << value.error().what;
    key.store(at, *value);
    EXPECT_EQ(everything(explicit_one), everything(plain.config)) << key.path;
    ++written;
  }
  EXPECT_GT(written, 25);
}

TEST(Reference, DocumentIsCurrent) {
  const std::string path = WG_TEST_DATA "/../../docs/configuration.md";
  if (std::getenv("WG_WRITE_DOCS")) std::ofstream(path) << reference();
  std::ifstream in(path);
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(written == reference())
      << "docs/configuration.md is behind src/config/keys.cpp: run WG_WRITE_DOCS=1 build/config_test";
}

TEST(Reference, NamesEveryKey) {
  const std::string text = reference();
  for (const Key& key : keys()) {
    const bool is_heading =
        key.path.find('.') == std::string_view::npos && (key.kind == Kind::section || key.kind == Kind::items);
    const std::string wanted = is_heading ? "## " + std::string(key.path) : '`' + std::string(key.path) + '`';
    EXPECT_NE(text.find(wanted), std::string::npos) << key.path;
  }
}

}  // namespace
}  // namespace wg::config
