// support/progress.h -- how far a long series of compiles has come: a bar on a terminal, one line at the end elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace kiln {

/// Silent for short work: fewer than `fewest` steps, or less than half a second. Output goes to stderr; a program that
/// took over the log (set_log_sink) gets the last line, at level 1, instead.
class Progress {
 public:
  static constexpr std::size_t fewest = 3;

  /// `what` is the work, as in "compiling softmax"; `unit` one step of it, in the singular.
  Progress(std::string what, std::string unit, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Takes the bar away; after the last step says how much was done and how long it took.
  ~Progress();

  /// One step is done, on whichever thread. `item` names it beside the bar.
  void advance(std::string_view item = {});

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_worth_showing() const;
  void draw(std::string_view item);

  const std::string what_, unit_;
  const std::size_t total_;
  const bool terminal_;
  const Clock::time_point start_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace kiln
