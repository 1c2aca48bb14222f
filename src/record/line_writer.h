// Where the log's lines end up: a file or standard error. Never throws and never waits longer than a second for a
// reader: what cannot be written is lost, and the first loss is told on standard error. Owner: the log thread.
#pragma once

#include <string>
#include <string_view>

namespace wg::record {

class LineWriter {
 public:
  // Empty path: standard error. Throws std::runtime_error if the file cannot be opened.
  explicit LineWriter(const std::string& path);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Whole lines, with their ends. Returns how many bytes of them were written; the rest is lost. If that ends within a
  // line, the next one starts on a new line.
  std::size_t write(std::string_view lines);

 private:
  std::size_t put(std::string_view bytes);
  bool writable();
  void failed(int error);

  std::string path_;
  int fd_;
  bool torn_ = false;   // the last line written lacks its end
  bool stuck_ = false;  // the reader did not read for a second: not waited for again until it does
  bool told_ = false;
};

}  // namespace wg::record
