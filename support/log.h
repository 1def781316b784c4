// support/log.h -- the KILN_DEBUG ladder: 0 silent (warnings only), 1 devices and cache, 2 each compile and launch with
// times, 3 schedules and fusion decisions, 4 generated source, 5 the graph after every pass that changed it, 6 compiler
// logs.
#pragma once

#include <string_view>

#include <fmt/format.h>

namespace kiln {

/// Current level from KILN_DEBUG, one relaxed load.
int log_level();
inline bool log_enabled(int level) { return log_level() >= level; }
void log_write(int level, std::string_view message);
/// Printed once per distinct message, at every level.
void warn_once(std::string_view message);

/// Where messages go instead of stderr: an embedding program's log. Null restores stderr. Called from any thread, one
/// message per call, without a line end; level 0 is a warning. The sink must not throw.
using LogSink = void (*)(int level, std::string_view message, void* context);
void set_log_sink(LogSink sink, void* context);

/// True while messages go to a sink.
bool log_is_redirected();
/// While a progress bar stands on the terminal's last line, each message erases it first; the bar is drawn again.
void log_over_bar(bool bar);

/// Re-reads KILN_DEBUG and forgets which warnings were printed. For tests only.
void reset_log();

#define KILN_LOG(level, ...)                                \
  do {                                                      \
    if (::kiln::log_enabled(level)) [[unlikely]]            \
      ::kiln::log_write(level, ::fmt::format(__VA_ARGS__)); \
  } while (false)

}  // namespace kiln
