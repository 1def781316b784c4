// support/log.cpp -- messages to stderr or to the embedding program, and warnings that are printed once.
#include "support/log.h"

#include <atomic>
#include <cstdio>
#include <string>
#include <unordered_set>

#include "support/env.h"
#include "support/fork_safe.h"

namespace kiln {
namespace {

constexpr int unread = -1;
constexpr int highest_level = 6;
constexpr std::size_t most_warnings = 1000;  // a warning that varies without end must not fill the memory

struct State {
  std::atomic<int> level{unread};
  std::atomic<bool> bar{false};
  ForkSafeMutex mutex;
  LogSink sink = nullptr;
  void* sink_context = nullptr;
  std::unordered_set<std::string> printed;
};

constinit Leaked<State> the_state;
State& state() { return the_state.get(); }

int read_level() {
  const std::string text = setting("KILN_DEBUG");
  int level = 0;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '0' + highest_level) {
    level = text[0] - '0';
  } else {
    warn_once(fmt::format("KILN_DEBUG={} is not a level; the levels are 0 to {}", text, highest_level));
  }
  for (const std::string& report : unknown_settings()) warn_once(report);
  return level;
}

}  // namespace

int log_level() {
  State& s = state();
  int level = s.level.load(std::memory_order_relaxed);
  if (level != unread) [[likely]]
    return level;
  level = read_level();
  s.level.store(level, std::memory_order_relaxed);
  return level;
}

void log_write(int level, std::string_view message) {
  State& s = state();
  LogSink sink;
  void* context;
  {
    const std::lock_guard lock(s.mutex);
    sink = s.sink;
    context = s.sink_context;
  }
  if (sink) return sink(level, message, context);
  // One write per message, so that lines of several threads do not mix.
  const char* const erase = s.bar.load(std::memory_order_relaxed) ? "\r\x1b[K" : "";
  const std::string line = fmt::format("{}kiln{}: {}\n", erase, level == 0 ? " warning" : "", message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void warn_once(std::string_view message) {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (s.printed.size() >= most_warnings || !s.printed.emplace(message).second) return;
  }
  log_write(0, message);
}

void set_log_sink(LogSink sink, void* context) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.sink = sink;
  s.sink_context = context;
}

bool log_is_redirected() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  return s.sink != nullptr;
}

void log_over_bar(bool bar) { state().bar.store(bar, std::memory_order_relaxed); }

void reset_log() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.printed.clear();
  s.level.store(unread, std::memory_order_relaxed);
}

}  // namespace kiln
