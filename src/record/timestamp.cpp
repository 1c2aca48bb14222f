#include "record/timestamp.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace wg::record {

void append_timestamp(std::string& line) {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  const std::time_t second = static_cast<std::time_t>(now.count() / 1000);
  // The calendar is worked out once a second.
  thread_local std::time_t known = -1;
  thread_local char text[sizeof "2026-11-30T12:00:00."];
  if (second != known) {
    std::tm calendar{};
    gmtime_r(&second, &calendar);
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.", &calendar);
    known = second;
  }
  const auto milli = static_cast<unsigned>(now.count() % 1000);
  const char digits[] = {static_cast<char>('0' + milli / 100), static_cast<char>('0' + milli / 10 % 10),
                         static_cast<char>('0' + milli % 10), 'Z'};
  line.append(text).append(digits, sizeof digits);
}

}  // namespace wg::record
