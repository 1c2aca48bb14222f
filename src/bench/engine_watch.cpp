#include "bench/engine_watch.h"

#include "net/loop.h"
#include "probe/engine_sample.h"

namespace wg::bench {
namespace {

constexpr Duration look_timeout = std::chrono::seconds(2), reset_timeout = std::chrono::seconds(10);
constexpr std::size_t page_limit = 16 << 20;

void add(EngineLook& look, const std::string& engine, const probe::EngineSample& sample) {
  for (const probe::RankSample& rank : sample.ranks) {
    const double requests = rank.running + rank.waiting;
    look.prefix_queries += rank.prefix_queries;
    look.prefix_hits += rank.prefix_hits;
    look.preemptions += rank.preemptions;
    look.requests += requests;
    ++look.ranks;
    if (requests > 0) ++look.busy;
    look.by_rank.push_back(
        {engine + "/" + std::to_string(rank.rank), rank.kv_usage, rank.prefix_queries, rank.prefix_hits, requests});
  }
}

}  // namespace

EngineWatch::EngineWatch(net::Loop& loop, std::vector<EngineAddress> engines)
    : loop_(loop), engines_(std::move(engines)) {
  for (const EngineAddress& engine : engines_) {
    net::HttpClient::Target target;
    target.host = engine.host;
    target.port = engine.port;
    target.base_path = engine.base_path;
    target.credential = engine.credential;
    clients_.push_back(std::make_unique<net::HttpClient>(loop_, std::move(target)));
  }
}

net::Task<EngineLook> EngineWatch::look() {
  EngineLook look;
  look.complete = !clients_.empty();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const auto page = co_await clients_[i]->get("/metrics", look_timeout, page_limit);
    if (!page || page->status != 200) {
      look.complete = false;
      continue;
    }
    const auto sample = probe::parse_metrics(page->body);
    if (sample)
      add(look, "e" + std::to_string(i), *sample);
    else
      look.complete = false;
  }
  look.at = loop_.now();
  co_return look;
}

net::Task<Result<void>> EngineWatch::reset_prefix_caches() {
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const std::string where = engines_[i].text() + "/reset_prefix_cache";
    const auto reply = co_await clients_[i]->send("POST", "/reset_prefix_cache", "", reset_timeout, page_limit);
    if (!reply) co_return fail(Fault::upstream, where + ": " + reply.error().what);
    if (reply->status == 404 || reply->status == 405)
      co_return fail(Fault::upstream,
                     where + " answers " + std::to_string(reply->status) +
                         ": start vLLM with VLLM_SERVER_DEV_MODE=1, or leave --reset-prefix-cache out");
    if (reply->status != 200) co_return fail(Fault::upstream, where + " answers " + std::to_string(reply->status));
    if (reply->body.find("false") != std::string::npos)
      co_return fail(Fault::upstream, where + " did not succeed: a request still holds a part of the cache");
  }
  co_return Result<void>();
}

}  // namespace wg::bench
