#include "record/request_log.h"

#include <pthread.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <csignal>
#include <stdexcept>

#include "record/line_writer.h"
#include "record/request_line.h"

namespace wg::record {
namespace {

constexpr std::size_t queued_lines = 4'096;

LineForm form_named(const std::string& name) {
  if (name == "text") return LineForm::text;
  if (name == "json") return LineForm::json;
  throw std::runtime_error("log format " + name + " is unknown; allowed: text, json");
}

spdlog::level::level_enum level_named(const std::string& name) {
  if (name == "debug") return spdlog::level::debug;
  if (name == "info") return spdlog::level::info;
  if (name == "warning") return spdlog::level::warn;
  if (name == "error") return spdlog::level::err;
  throw std::runtime_error("log level " + name + " is unknown; allowed: debug, info, warning, error");
}

std::unique_ptr<spdlog::formatter> formatter_of(LineForm form) {
  const char* pattern =
      form == LineForm::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n");
}

// Signals are for the main thread; and a reader that hangs up must not end the process.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

using ThreadPool = spdlog::details::thread_pool;

// On the log thread: from spdlog to the writer. What is lost is counted, and told once in the log itself, as soon as
// something can be written there again.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  Sink(const std::string& path, LineForm form) : writer_(path) {
    set_formatter_(formatter_of(form));
    append_message(notice_,
                   "log lines were lost: the queue or the disk was full; warmgate_log_lines_dropped_total counts them",
                   form);
  }

  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  void count_lost() { lost_.fetch_add(1, std::memory_order_relaxed); }

  // The queue in front drops lines too. Called once, before the first line; the pool outlives its thread.
  void watch(ThreadPool* queue) { queue_ = queue; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!write(message)) return count_lost();
    if (told_ || (lost() == 0 && queue_->overrun_counter() == 0)) return;
    told_ = write(spdlog::details::log_msg("", spdlog::level::warn, notice_));
  }
  void flush_() override {}

 private:
  bool write(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return writer_.write(std::string_view(line.data(), line.size()));
  }

  LineWriter writer_;
  std::string notice_;
  bool told_ = false;
  ThreadPool* queue_ = nullptr;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace

// Lines are formatted where they arise, into a buffer that the thread keeps, and copied once into the queue: copying
// the record's strings for the log thread to format would cost more.
struct Log::State {
  explicit State(const LogOptions& options)
      : form(form_named(options.format)),
        sink(std::make_shared<Sink>(options.file, form)),
        pool(std::make_shared<ThreadPool>(queued_lines, 1, block_signals)),
        logger(std::make_shared<spdlog::async_logger>("", sink, pool, spdlog::async_overflow_policy::overrun_oldest)) {
    sink->watch(pool.get());
    logger->set_level(level_named(options.level));
    logger->flush_on(spdlog::level::off);
    logger->set_error_handler([counter = sink.get()](const std::string&) { counter->count_lost(); });
  }

  template <class Append>
  void write(spdlog::level::level_enum level, Append&& append) {
    if (!logger->should_log(level)) return;
    thread_local std::string line;
    line.clear();
    append(line);
    logger->log(level, spdlog::string_view_t(line.data(), line.size()));
  }

  void message(spdlog::level::level_enum level, std::string_view text) {
    write(level, [&](std::string& line) { append_message(line, text, form); });
  }

  LineForm form;
  std::shared_ptr<Sink> sink;                    // also held by the logger and its queued lines
  std::shared_ptr<ThreadPool> pool;              // the logger knows it weakly; its end writes what is queued
  std::shared_ptr<spdlog::async_logger> logger;  // also held by its queued lines
};

Log::Log(const LogOptions& options) : state_(std::make_unique<State>(options)) {}
Log::~Log() = default;

void Log::request(const RequestRecord& record) {
  state_->write(spdlog::level::info, [&](std::string& line) { append_request(line, record, state_->form); });
}
void Log::debug(std::string_view message) { state_->message(spdlog::level::debug, message); }
void Log::info(std::string_view message) { state_->message(spdlog::level::info, message); }
void Log::warning(std::string_view message) { state_->message(spdlog::level::warn, message); }
void Log::error(std::string_view message) { state_->message(spdlog::level::err, message); }

std::uint64_t Log::dropped() const { return state_->sink->lost() + state_->pool->overrun_counter(); }

}  // namespace wg::record
