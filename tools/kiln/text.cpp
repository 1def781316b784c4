// tools/kiln/text.cpp -- formats sizes, ages and tables.
#include "tools/kiln/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <system_error>

#include <fmt/format.h>

namespace kiln::command {
namespace {

int output_error = 0;  ///< the first one; the buffer of stdout forgets

}  // namespace

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string age_text(std::int64_t seconds_since_epoch) {
  if (seconds_since_epoch == 0) return "unknown";
  const std::int64_t age = std::time(nullptr) - seconds_since_epoch;
  if (age < -60) return "in the future";
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  for (const Unit unit : {Unit{86400, "day"}, Unit{3600, "hour"}, Unit{60, "minute"}}) {
    const std::int64_t count = age / unit.seconds;
    if (count) return fmt::format("{} {}{} ago", count, unit.name, count == 1 ? "" : "s");
  }
  return "just now";
}

std::string plural(std::uint64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i + 1 < row.size() ? fmt::format("{:{}}  ", row[i], widths[i]) : row[i];
    text += '\n';
  }
  return text;
}

void print(const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && output_error == 0)
    output_error = errno ? errno : EIO;
}

std::string flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno ? errno : EIO;
  return output_error ? std::generic_category().message(output_error) : "";
}

}  // namespace kiln::command
