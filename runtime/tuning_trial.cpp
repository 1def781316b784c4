// runtime/tuning_trial.cpp -- turns, finalists and the decision.
#include "runtime/tuning_trial.h"

#include <algorithm>
#include <cmath>

namespace kiln::runtime {

/// The noise is the half width of a notch (McGill, Tukey, Larsen 1978): 1.57 quartile distances by the root of n.
Median median_of(std::vector<double> times) {
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    const double place = part * static_cast<double>(times.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const double above = times[std::min(below + 1, times.size() - 1)];
    return times[below] + (place - static_cast<double>(below)) * (above - times[below]);
  };
  return {at(0.5), 1.57 * (at(0.75) - at(0.25)) / std::sqrt(static_cast<double>(times.size()))};
}

Trial::Trial(std::size_t candidates, TrialRules rules)
    : rules_(rules), runners_(std::max<std::size_t>(1, candidates)) {}

/// Results of the stage at hand that every runner needs.
unsigned Trial::goal() const {
  switch (stage_) {
    case Stage::first:
      return rules_.first_runs;
    case Stage::finalists:
      return rules_.first_runs + rules_.more_runs;
    default:
      return rules_.last_runs * (1 + round_);
  }
}

bool Trial::is_complete(const Runner& runner) const { return runner.out || runner.times.size() >= goal(); }

int Trial::next() {
  if (is_decided()) return none;
  const std::size_t runners = allowed_ ? runners_.size() : 1;
  for (std::size_t step = 0; step < runners; ++step) {
    const std::size_t candidate = (turn_ + step) % runners;
    Runner& runner = runners_[candidate];
    if (runner.out || runner.asked >= goal() + (runner.warm ? 0 : 1)) continue;
    turn_ = candidate + 1;
    ++runner.asked;
    return static_cast<int>(candidate);
  }
  return none;
}

void Trial::add(std::size_t candidate, double microseconds) {
  Runner& runner = runners_[candidate];
  if (is_decided() || runner.out) return;
  ++runs_;
  if (!runner.warm) {
    runner.warm = true;
    --runner.asked;
  } else {
    runner.times.push_back(microseconds);
  }
  advance();
}

void Trial::lose(std::size_t candidate) {
  if (runners_[candidate].asked > 0) --runners_[candidate].asked;
}

void Trial::drop(std::size_t candidate) {
  if (candidate == 0 || is_decided()) return;
  runners_[candidate].out = true;
  advance();
}

void Trial::allow_candidates() {
  allowed_ = true;
  advance();
}

bool Trial::knows_heuristic() const { return runners_[0].times.size() >= rules_.first_runs; }

bool Trial::is_too_short() const {
  return knows_heuristic() && median_of(runners_[0].times).value < rules_.shortest_us;
}

void Trial::advance() {
  if (!allowed_ || is_decided()) return;
  if (!std::all_of(runners_.begin(), runners_.end(), [&](const Runner& r) { return is_complete(r); })) return;
  const bool alone = std::all_of(runners_.begin() + 1, runners_.end(), [](const Runner& runner) { return runner.out; });
  if (alone) {
    winner_ = 0;
    winner_us_ = heuristic_us_ = median_of(runners_[0].times).value;
    stage_ = Stage::decided;
  } else if (stage_ == Stage::first) {
    choose_finalists();
    stage_ = Stage::finalists;
  } else if (stage_ == Stage::finalists) {
    rules_.finalists = 2;
    rules_.only_candidates = false;
    choose_finalists();
    for (Runner& runner : runners_) runner.times.clear(), runner.asked = 0;
    stage_ = Stage::last;
  } else if (decide()) {
    stage_ = Stage::decided;
  } else {
    ++round_;
  }
}

/// The heuristic and the fastest others. Those far behind leave even where there is room.
void Trial::choose_finalists() {
  std::vector<std::pair<double, std::size_t>> medians;
  double best = 0;
  for (std::size_t c = 0; c < runners_.size(); ++c) {
    if (runners_[c].out) continue;
    const double median = median_of(runners_[c].times).value;
    best = best == 0 ? median : std::min(best, median);
    if (c > 0) medians.emplace_back(median, c);
  }
  std::sort(medians.begin(), medians.end());
  for (std::size_t place = 0; place < medians.size(); ++place) {
    const bool stays = rules_.only_candidates || place + 1 < rules_.finalists;
    if (!stays || medians[place].first > rules_.hopeless * best) runners_[medians[place].second].out = true;
  }
  // Where all others are hopeless the heuristic has won: the next advance() sees it alone.
}

/// False where more runs may tell a lead from noise.
bool Trial::decide() {
  const Median heuristic = median_of(runners_[0].times);
  winner_ = 0;
  heuristic_us_ = winner_us_ = heuristic.value;
  for (std::size_t c = 1; c < runners_.size(); ++c) {
    if (runners_[c].out) continue;
    const Median median = median_of(runners_[c].times);
    const double lead = heuristic.value - median.value, least = rules_.least_lead * heuristic.value;
    const bool is_clear = lead > least + std::hypot(median.noise, heuristic.noise);
    if (lead > least && !is_clear && round_ < rules_.more_rounds) return false;
    if (!is_clear) continue;
    winner_ = c;
    winner_us_ = median.value;
  }
  return true;
}

}  // namespace kiln::runtime
