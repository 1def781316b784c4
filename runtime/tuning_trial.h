// runtime/tuning_trial.h -- which candidate runs next and which one wins: statistics only, no clock and no device.
//
// Candidates take turns, so that whatever else happens on the machine happens to all of them. After a few runs each,
// the slow ones leave; the best few run on; and the best of those meets the heuristic once more. Only these last runs
// decide, since the best of many looks better than it is. Times are compared by medians.
#pragma once

#include <cstddef>
#include <vector>

namespace kiln::runtime {

struct TrialRules {
  unsigned first_runs = 6;       ///< of each candidate
  unsigned finalists = 4;        ///< that run on, the heuristic among them
  unsigned more_runs = 10;       ///< of each finalist
  unsigned last_runs = 20;       ///< of the best finalist and of the heuristic
  unsigned more_rounds = 2;      ///< of those, where a lead of the medians is lost in noise
  double least_lead = 0.03;      ///< of the heuristic's time, beyond the noise of both
  double hopeless = 1.5;         ///< times the best median: leaves early
  double shortest_us = 6;        ///< a heuristic below that is not worth tuning: a launch takes as long
  bool only_candidates = false;  ///< exhaustive: all candidates are finalists
};

/// Median, and how far it may be off: about 95 % of repetitions lie within, if times are independent.
struct Median {
  double value = 0, noise = 0;
};
Median median_of(std::vector<double> times);

class Trial {
 public:
  Trial(std::size_t candidates, TrialRules rules);

  static constexpr int none = -1;
  /// The candidate for the next timed run. `none` while results of earlier runs are missing; for good once decided.
  int next();
  /// The outcome of a run that next() asked for. The first run of each candidate only warms up.
  void add(std::size_t candidate, double microseconds);
  /// A run that next() asked for has no result.
  void lose(std::size_t candidate);
  /// Takes a candidate out: it does not compile, or a launch failed. Not the heuristic.
  void drop(std::size_t candidate);
  /// The other candidates may run; until then only the heuristic (candidate 0) does.
  void allow_candidates();
  /// The heuristic has run often enough to tell whether candidates are worth compiling.
  bool knows_heuristic() const;
  bool is_too_short() const;

  bool is_decided() const { return stage_ == Stage::decided; }
  std::size_t winner() const { return winner_; }
  /// Of the runs that decided; of all runs where the heuristic was never challenged.
  double winner_us() const { return winner_us_; }
  double heuristic_us() const { return heuristic_us_; }
  unsigned runs() const { return runs_; }

 private:
  enum class Stage { first, finalists, last, decided };
  struct Runner {
    std::vector<double> times;  ///< of the stage at hand and those before; the last stage starts anew
    unsigned asked = 0;         ///< runs of the stage that have a result or wait for one
    bool warm = false, out = false;
  };
  unsigned goal() const;
  bool is_complete(const Runner& runner) const;
  void advance();
  void choose_finalists();
  bool decide();

  TrialRules rules_;
  std::vector<Runner> runners_;
  Stage stage_ = Stage::first;
  bool allowed_ = false;
  std::size_t turn_ = 0, winner_ = 0;
  double winner_us_ = 0, heuristic_us_ = 0;
  unsigned runs_ = 0, round_ = 0;
};

}  // namespace kiln::runtime
