// tests/unit/runtime/tuning_trial_test.cpp -- who wins a trial: leads, noise, outliers, drift, missing results.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "runtime/tuning_trial.h"

namespace kiln::runtime {
namespace {

using Clock = std::function<double(std::size_t candidate, int run)>;

struct Outcome {
  std::size_t winner = 0;
  int runs = 0;
  std::vector<int> runs_of;
};

/// Runs a trial to its end with results that arrive `late` runs after they were asked for.
Outcome judge(std::size_t candidates, const Clock& time, std::size_t late = 0, TrialRules rules = {}) {
  Trial trial(candidates, rules);
  trial.allow_candidates();
  Outcome outcome;
  outcome.runs_of.resize(candidates);
  std::vector<std::pair<std::size_t, double>> waiting;
  while (!trial.is_decided() && outcome.runs < 100000) {
    const int next = trial.next();
    if (next != Trial::none) {
      const auto candidate = static_cast<std::size_t>(next);
      waiting.emplace_back(candidate, time(candidate, outcome.runs++));
      ++outcome.runs_of[candidate];
    }
    if (waiting.size() > late || (next == Trial::none && !waiting.empty())) {
      trial.add(waiting.front().first, waiting.front().second);
      waiting.erase(waiting.begin());
    }
  }
  EXPECT_TRUE(trial.is_decided());
  outcome.winner = trial.winner();
  return outcome;
}

TEST(TuningTrial, AClearLeadWins) {
  const auto time = [](std::size_t c, int) { return c == 3 ? 90.0 : 100.0 + static_cast<double>(c); };
  EXPECT_EQ(judge(8, time).winner, 3u);
  EXPECT_EQ(judge(8, time, 7).winner, 3u) << "results come late";
  EXPECT_EQ(judge(2, [](std::size_t c, int) { return c == 1 ? 96.0 : 100.0; }).winner, 1u);
}

/// Rule: a lead of 3 % or less changes nothing.
TEST(TuningTrial, ASmallLeadDoesNot) {
  EXPECT_EQ(judge(8, [](std::size_t c, int) { return c == 3 ? 97.2 : 100.0; }).winner, 0u);
  EXPECT_EQ(judge(8, [](std::size_t, int) { return 100.0; }).winner, 0u);
  EXPECT_EQ(judge(8, [](std::size_t c, int) { return c == 0 ? 100.0 : 120.0; }).winner, 0u);
}

/// Rule: among equals, noise elects nobody. The best of eleven would look 5 % faster if one look decided.
TEST(TuningTrial, NoiseElectsNobody) {
  int elected = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(100, 8);
    elected += judge(12, [&](std::size_t, int) { return noise(random); }).winner != 0;
  }
  EXPECT_LE(elected, 4);
}

TEST(TuningTrial, ARealLeadIsFoundInNoise) {
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 2);
    found += judge(12, [&](std::size_t c, int) { return (c == 5 ? 88 : 100) + noise(random); }).winner == 5;
  }
  EXPECT_GE(found, 196);
}

/// One run in eight takes ten times as long, as when another program has its turn.
TEST(TuningTrial, OutliersDoNotDecide) {
  int found = 0, elected = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto slow = [&] { return random() % 8 == 0 ? 10.0 : 1.0; };
    found += judge(12, [&](std::size_t c, int) { return slow() * (c == 5 ? 85 : 100); }).winner == 5;
    elected += judge(12, [&](std::size_t, int) { return slow() * 100; }).winner != 0;
  }
  EXPECT_GE(found, 95);
  EXPECT_EQ(elected, 0);
}

/// A clock that slows down over the trial slows all alike, because they take turns.
TEST(TuningTrial, DriftDoesNotDecide) {
  EXPECT_EQ(judge(12, [](std::size_t, int run) { return 100.0 + 0.3 * run; }).winner, 0u);
  EXPECT_EQ(judge(12, [](std::size_t, int run) { return 200.0 - 0.3 * run; }).winner, 0u);
  EXPECT_EQ(judge(12, [](std::size_t c, int run) { return (c == 7 ? 0.9 : 1.0) * (100.0 + 0.3 * run); }).winner, 7u);
}

/// The first run of a kernel pays for caches and clocks.
TEST(TuningTrial, FirstRunsDoNotCount) {
  std::vector<int> seen(4);
  const auto time = [&](std::size_t c, int) { return seen[c]++ == 0 ? 1e6 : c == 2 ? 90.0 : 100.0; };
  EXPECT_EQ(judge(4, time).winner, 2u);
}

TEST(TuningTrial, HopelessCandidatesRunFewTimes) {
  const Outcome outcome = judge(12, [](std::size_t c, int) { return c == 0 ? 100.0 : c == 1 ? 90.0 : 300.0; });
  EXPECT_EQ(outcome.winner, 1u);
  for (std::size_t c = 2; c < 12; ++c) EXPECT_LE(outcome.runs_of[c], 7);
  EXPECT_LE(outcome.runs, 200);
}

TEST(TuningTrial, WhatIsDroppedDoesNotWinAndNobodyWaitsForIt) {
  Trial trial(3, {});
  trial.allow_candidates();
  trial.drop(1);
  for (int i = 0; i < 1000 && !trial.is_decided(); ++i) {
    const int next = trial.next();
    ASSERT_NE(next, 1);
    ASSERT_NE(next, Trial::none);
    trial.add(static_cast<std::size_t>(next), next == 2 ? 80 : 100);
  }
  EXPECT_TRUE(trial.is_decided());
  EXPECT_EQ(trial.winner(), 2u);
}

TEST(TuningTrial, WithoutCandidatesTheHeuristicWins) {
  Trial trial(3, {});
  trial.drop(1);
  trial.drop(2);
  for (int next = trial.next(); next != Trial::none; next = trial.next())
    trial.add(static_cast<std::size_t>(next), 100);
  EXPECT_TRUE(trial.knows_heuristic());
  EXPECT_FALSE(trial.is_decided());
  trial.allow_candidates();
  EXPECT_TRUE(trial.is_decided());
  EXPECT_EQ(trial.winner(), 0u);
}

TEST(TuningTrial, BeforeCandidatesAreBuiltOnlyTheHeuristicRuns) {
  Trial trial(5, {});
  int runs = 0;
  for (int next = trial.next(); next != Trial::none; next = trial.next(), ++runs) {
    ASSERT_EQ(next, 0);
    trial.add(0, 3.0);
  }
  EXPECT_EQ(runs, static_cast<int>(TrialRules().first_runs) + 1);
  EXPECT_TRUE(trial.is_too_short()) << "3 us are less than a launch takes";
}

TEST(TuningTrial, LostRunsAreAskedForAgain) {
  Trial trial(2, {});
  trial.allow_candidates();
  std::mt19937 random(3);
  for (int i = 0; i < 10000 && !trial.is_decided(); ++i) {
    const int next = trial.next();
    ASSERT_NE(next, Trial::none);
    const auto candidate = static_cast<std::size_t>(next);
    if (random() % 3 == 0) {
      trial.lose(candidate);
    } else {
      trial.add(candidate, candidate == 1 ? 50 : 100);
    }
  }
  EXPECT_EQ(trial.winner(), 1u);
}

TEST(TuningTrial, AnExhaustiveTrialRunsAllOfThemToTheEnd) {
  TrialRules rules;
  rules.finalists = 64;
  rules.only_candidates = true;
  rules.hopeless = 1e9;
  const Outcome outcome = judge(6, [](std::size_t c, int) { return c == 4 ? 90.0 : 100.0; }, 0, rules);
  EXPECT_EQ(outcome.winner, 4u);
  for (const int runs : outcome.runs_of) EXPECT_GE(runs, static_cast<int>(rules.first_runs + rules.more_runs));
}

TEST(TuningTrial, MediansAndTheirNoise) {
  EXPECT_EQ(median_of({3, 1, 2}).value, 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}).value, 2.5);
  EXPECT_EQ(median_of({5, 5, 5, 5}).noise, 0);
  // Quartiles 2 and 4, n = 5: 1.57 * 2 / sqrt(5).
  EXPECT_NEAR(median_of({1, 2, 3, 4, 5}).noise, 1.40425, 1e-5);
  EXPECT_EQ(median_of({}).value, 0);
}

}  // namespace
}  // namespace kiln::runtime
