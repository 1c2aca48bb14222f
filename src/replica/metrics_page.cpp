#include "replica/metrics_page.h"

#include "replica/answers.h"
#include "replica/metrics_writer.h"
#include "replica/site.h"

namespace wg::replica {
namespace {

double zero(std::uint32_t) { return 0; }

void process(MetricsWriter& page) {
  page.family("python_gc_objects_collected_total", "counter", "Objects collected during gc");
  for (const char* generation : {"0", "1", "2"})
    page.line(std::string("python_gc_objects_collected_total{generation=\"") + generation + "\"} 0.0");
  page.family("python_gc_objects_uncollectable_total", "counter", "Uncollectable objects found during GC");
  for (const char* generation : {"0", "1", "2"})
    page.line(std::string("python_gc_objects_uncollectable_total{generation=\"") + generation + "\"} 0.0");
  page.family("python_gc_collections_total", "counter", "Number of times this generation was collected");
  for (const char* generation : {"0", "1", "2"})
    page.line(std::string("python_gc_collections_total{generation=\"") + generation + "\"} 0.0");
  page.family("python_info", "gauge", "Python platform information");
  page.line("python_info{implementation=\"none\",major=\"0\",minor=\"0\",patchlevel=\"0\",version=\"0\"} 1.0");
  page.family("process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.");
  page.line("process_virtual_memory_bytes 0.0");
  page.family("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.");
  page.line("process_resident_memory_bytes 0.0");
  page.family("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.");
  page.line("process_start_time_seconds 0.0");
  page.family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.");
  page.line("process_cpu_seconds_total 0.0");
  page.family("process_open_fds", "gauge", "Number of open file descriptors.");
  page.line("process_open_fds 0.0");
  page.family("process_max_fds", "gauge", "Maximum number of open file descriptors.");
  page.line("process_max_fds 0.0");
}

void gauges(MetricsWriter& page, const Group& group) {
  page.counter("vllm:estimated_flops_per_gpu",
               "Estimated number of floating point operations per GPU (for Model Flops Utilization "
               "calculations).",
               zero);
  page.counter("vllm:estimated_read_bytes_per_gpu",
               "Estimated number of bytes read from memory per GPU (for Model Flops Utilization "
               "calculations).",
               zero);
  page.counter("vllm:estimated_write_bytes_per_gpu",
               "Estimated number of bytes written to memory per GPU (for Model Flops Utilization "
               "calculations).",
               zero);
  page.gauge("vllm:num_requests_running", "Number of requests in model execution batches.",
             [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).running()); });
  page.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.",
             [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).waiting()); });
  page.labelled("vllm:num_requests_waiting_by_reason", "gauge",
                "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for "
                "scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV "
                "transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
                "reason",
                {{"capacity", [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).waiting()); }},
                 {"deferred", zero}});
  page.labelled("vllm:engine_sleep_state", "gauge",
                "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is "
                "awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
                "sleep_state",
                {{"awake", [](std::uint32_t) { return 1.0; }}, {"weights_offloaded", zero}, {"discard_all", zero}});
  page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.",
             [&](std::uint32_t rank) { return group.engine(rank).kv_usage(); });
}

void counters(MetricsWriter& page, const Group& group, const std::string& model) {
  page.counter("vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.",
               [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prefix_queries); });
  page.counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.",
               [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prefix_hits); });
  page.counter("vllm:external_prefix_cache_queries",
               "External prefix cache queries from KV connector cross-instance cache sharing, in terms "
               "of number of queried tokens.",
               zero);
  page.counter("vllm:external_prefix_cache_hits",
               "External prefix cache hits from KV connector cross-instance cache sharing, in terms of "
               "number of cached tokens.",
               zero);
  page.counter("vllm:mm_cache_queries", "Multi-modal cache queries, in terms of number of queried items.", zero);
  page.counter("vllm:mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items.", zero);
  page.counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.",
               [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().preemptions); });
  page.counter("vllm:prompt_tokens", "Number of prefill tokens processed.",
               [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prompt_tokens); });
  page.labelled(
      "vllm:prompt_tokens_by_source", "counter", "Number of prompt tokens by source.", "source",
      {{"local_compute",
        [&](std::uint32_t rank) {
          const sim::EngineCounters all = group.engine(rank).counters();
          return static_cast<double>(all.prompt_tokens - all.prompt_tokens_cached);
        }},
       {"local_cache_hit",
        [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prompt_tokens_cached); }},
       {"external_kv_transfer", zero}});
  page.counter(
      "vllm:prompt_tokens_cached", "Number of cached prompt tokens (local + external).",
      [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prompt_tokens_cached); });
  page.labelled(
      "vllm:prompt_tokens_cached_by_source", "counter",
      "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host "
      "(offloaded to DRAM), disk, p2p (transferred from another vLLM instance) or "
      "external_unspecified. Counted at admission; sums to vllm:prefix_cache_hits + "
      "vllm:external_prefix_cache_hits.",
      "source",
      {{"device", [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().prefix_hits); }},
       {"host", zero},
       {"p2p", zero},
       {"disk", zero},
       {"external_unspecified", zero}});
  page.counter("vllm:generation_tokens", "Number of generation tokens processed.", [&](std::uint32_t rank) {
    return static_cast<double>(group.engine(rank).counters().generation_tokens);
  });
  page.labelled(
      "vllm:request_success", "counter", "Count of successfully processed requests.", "finished_reason",
      {{"stop", [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().finished_stop); }},
       {"length",
        [&](std::uint32_t rank) { return static_cast<double>(group.engine(rank).counters().finished_length); }},
       {"abort", zero},
       {"error", zero},
       {"repetition", zero}});
  static constexpr std::string_view rejections = "Number of admission attempts rejected by a queue limit, by reason.";
  page.family("vllm:admission_rejections_total", "counter", rejections);
  page.line("vllm:admission_rejections_total{model_name=" + model + ",reason=\"max_num_queued_reqs\"} " +
            metrics_number(static_cast<double>(group.rejections())));
  page.line("vllm:admission_rejections_total{model_name=" + model + ",reason=\"max_num_queued_tokens\"} 0.0");
  page.family("vllm:admission_rejections_created", "gauge", rejections);
  for (const char* reason : {"max_num_queued_reqs", "max_num_queued_tokens"})
    page.line("vllm:admission_rejections_created{model_name=" + model + ",reason=\"" + reason + "\"} " +
              page.started());
}

void histograms(MetricsWriter& page, const Group& group) {
  static const Histogram no_tokens(bounds::tokens), no_n(bounds::params_n), no_preemptions(bounds::preemptions);
  page.histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).prompt_tokens; });
  page.histogram("vllm:request_generation_tokens", "Number of generation tokens processed.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).generation_tokens; });
  page.histogram("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).iteration_tokens; });
  page.histogram("vllm:request_max_num_generation_tokens",
                 "Histogram of maximum number of requested generation tokens.",
                 [&](std::uint32_t) -> const Histogram& { return no_tokens; });
  page.histogram("vllm:request_params_n", "Histogram of the n request parameter.",
                 [&](std::uint32_t) -> const Histogram& { return no_n; });
  page.histogram("vllm:request_params_max_tokens", "Histogram of the max_tokens request parameter.",
                 [&](std::uint32_t) -> const Histogram& { return no_tokens; });
  page.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).ttft; });
  page.histogram("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).inter_token; });
  page.histogram("vllm:request_time_per_output_token_seconds",
                 "Histogram of time_per_output_token_seconds per request.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).per_output_token; });
  page.histogram("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).e2e; });
  page.histogram("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).queue_time; });
  page.histogram("vllm:request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).inference_time; });
  page.histogram("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).prefill_time; });
  page.histogram("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).decode_time; });
  page.histogram("vllm:request_num_preemptions", "Histogram of the number of times a request was preempted.",
                 [&](std::uint32_t) -> const Histogram& { return no_preemptions; });
  page.histogram("vllm:request_prefill_kv_computed_tokens",
                 "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
                 [&](std::uint32_t rank) -> const Histogram& { return group.statistics(rank).computed_tokens; });
}

// vLLM tells the blocks of all ranks together, but the tokens of one.
void cache_config(MetricsWriter& page, const Site& site) {
  const sim::EngineSettings& settings = site.options.preset.engine;
  page.family("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  const std::string block = std::to_string(settings.block_size), kv = std::to_string(settings.kv_tokens.count),
                    blocks = std::to_string(std::uint64_t{settings.num_blocks()} * site.group.ranks()),
                    caching = settings.prefix_caching ? "True" : "False",
                    concurrency = metrics_number(static_cast<double>(settings.kv_tokens.count) /
                                                 static_cast<double>(settings.model_len().count));
  for (std::uint32_t rank = 0; rank < site.group.ranks(); ++rank) {
    const std::string engine = std::to_string(rank);
    page.line(
        "vllm:cache_config_info{" +
        std::string("_block_size_resolved=\"True\",block_size=\"" + block +
                    "\",cache_dtype=\"auto\",cache_hit_alignment_tokens=\"None\",effective_attention_block_size=\"" +
                    block + "\",enable_mamba_shared_prefix_checkpoint=\"False\",enable_prefix_caching=\"" + caching +
                    "\",engine=\"" + engine +
                    "\",gpu_memory_utilization=\"0.92\",hash_block_size=\"None\",is_attention_free=\"False\",kv_cache_"
                    "dtype_skip_layers=\"[]\",kv_cache_layout=\"None\",kv_cache_max_concurrency=\"" +
                    concurrency + "\",kv_cache_memory_bytes=\"1073741824\",kv_cache_size_tokens=\"" + kv +
                    "\",kv_offloading_backend=\"native\",kv_offloading_size=\"None\",kv_sharing_fast_prefill=\"False\","
                    "mamba_block_size=\"None\",mamba_cache_dtype=\"auto\",mamba_cache_mode=\"none\",mamba_page_size_"
                    "padded=\"None\",mamba_ssm_cache_dtype=\"float32\",num_cpu_blocks=\"None\",num_gpu_blocks=\"" +
                    blocks +
                    "\",num_gpu_blocks_override=\"None\",prefix_cache_retention_interval=\"0\",prefix_caching_hash_"
                    "algo=\"sha256\",prefix_match_unit=\"None\",replayssm_buffer_len=\"16\",skip_page_size_padded="
                    "\"None\",sliding_window=\"None\",swa_bounded_replay=\"True\",use_kda_recoverssm=\"False\",use_"
                    "replayssm=\"False\",user_specified_block_size=\"False\"") +
        "} 1.0");
  }
}

void http(MetricsWriter& page, const Site& site) {
  page.family("http_requests_total", "counter", "Total number of requests by method, status and handler.");
  for (const auto& [what, statuses] : site.http_requests)
    for (const auto& [status, count] : statuses)
      page.line("http_requests_total{handler=" + quoted(what.first) + ",method=" + quoted(what.second) +
                ",status=" + quoted(status) + "} " + metrics_number(static_cast<double>(count)));
  page.family("http_requests_created", "gauge", "Total number of requests by method, status and handler.");
  page.family("http_request_size_bytes", "summary",
              "Content length of incoming requests by handler. Only value of header is respected. "
              "Otherwise ignored. No percentile calculated. ");
  page.family("http_request_size_bytes_created", "gauge",
              "Content length of incoming requests by handler. Only value of header is respected. "
              "Otherwise ignored. No percentile calculated. ");
  page.family("http_response_size_bytes", "summary",
              "Content length of outgoing responses by handler. Only value of header is respected. "
              "Otherwise ignored. No percentile calculated. ");
  page.family("http_response_size_bytes_created", "gauge",
              "Content length of outgoing responses by handler. Only value of header is respected. "
              "Otherwise ignored. No percentile calculated. ");
  page.family("http_request_duration_highr_seconds", "histogram",
              "Latency with many buckets but no API specific labels. Made for more accurate percentile "
              "calculations. ");
  page.family("http_request_duration_highr_seconds_created", "gauge",
              "Latency with many buckets but no API specific labels. Made for more accurate percentile "
              "calculations. ");
  page.family("http_request_duration_seconds", "histogram",
              "Latency with only few buckets by handler. Made to be only used if aggregation by "
              "handler is important. ");
  page.family("http_request_duration_seconds_created", "gauge",
              "Latency with only few buckets by handler. Made to be only used if aggregation by "
              "handler is important. ");
}

}  // namespace

std::string metrics_page(const Site& site) {
  MetricsWriter page(site.group.ranks(), site.model, site.started_at);
  process(page);
  gauges(page, site.group);
  counters(page, site.group, quoted(site.model));
  histograms(page, site.group);
  cache_config(page, site);
  http(page, site);
  return page.take();
}

}  // namespace wg::replica
