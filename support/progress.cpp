// support/progress.cpp -- draws the bar.
#include "support/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "support/env.h"
#include "support/log.h"

namespace kiln {
namespace {

constexpr double silent_seconds = 0.5;
constexpr auto redraw_interval = std::chrono::milliseconds(100);
constexpr const char* erase_line = "\r\x1b[K";

bool is_terminal() {
  if (!isatty(STDERR_FILENO) || log_is_redirected()) return false;
  const std::string kind = foreign_variable("TERM");
  return !kind.empty() && kind != "dumb";
}

std::size_t terminal_width() {
  constexpr std::size_t usual = 80;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what, std::string unit, std::size_t total)
    : what_(std::move(what)), unit_(std::move(unit)), total_(total), terminal_(is_terminal()), start_(Clock::now()) {}

bool Progress::is_worth_showing() const { return total_ >= fewest && seconds() >= silent_seconds; }

void Progress::advance(std::string_view item) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!terminal_ || !is_worth_showing() || (visible_ && Clock::now() - drawn_ < redraw_interval)) return;
  draw(item);
}

void Progress::draw(std::string_view item) {
  const std::string count = fmt::format(" {}/{}, {:.1f} s", done_, total_, seconds());
  const std::string head = fmt::format("kiln: {} ", what_);
  const std::string tail = item.empty() ? count : fmt::format("{}, {}", count, item);
  // One column stays free: some terminals wrap a full line.
  const std::size_t width = terminal_width() - 1, used = head.size() + tail.size() + 2;
  constexpr std::size_t shortest_bar = 8, longest_bar = 40;
  std::string line = head;
  if (used + shortest_bar <= width) {
    const std::size_t cells = std::min(longest_bar, width - used);
    const std::size_t full = std::min(cells, cells * done_ / std::max<std::size_t>(total_, 1));
    line += '[' + std::string(full, '#') + std::string(cells - full, '.') + ']';
  }
  line += tail;
  log_over_bar(true);
  write(erase_line + line.substr(0, width));
  drawn_ = Clock::now();
  visible_ = true;
}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  if (visible_) {
    log_over_bar(false);
    write(erase_line);
  }
  if (done_ < total_ || !is_worth_showing()) return;
  const std::string line = fmt::format("{}: {} {}s in {:.1f} s", what_, total_, unit_, seconds());
  if (log_is_redirected())
    log_write(1, line);
  else
    write("kiln: " + line + '\n');
}

}  // namespace kiln
