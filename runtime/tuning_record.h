// runtime/tuning_record.h -- what tuning found for one kernel, as one line of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

/// What a record is about. Records of one key replace each other.
struct TuningKey {
  std::string kernel;       ///< 64 hexadecimal digits: kernel, heuristic schedule, architecture and options
  int size = 0;             ///< floor(log2(bytes that one launch moves))
  std::string device;       ///< "NVIDIA H200"
  int multiprocessors = 0;  ///< a card or slice of one name may have fewer
  bool any_order = false;   ///< found among schedules that join elements in other orders, too (KILN_TUNE=full)
  friend bool operator==(const TuningKey&, const TuningKey&) = default;

  /// Name of the record's file: 32 hexadecimal digits.
  std::string digest() const;
};

struct TuningRecord {
  TuningKey key;
  std::string choice;     ///< candidate_name() of the winner
  std::string heuristic;  ///< the same of what it was compared with; equal to `choice` where nothing was better
  double choice_us = 0, heuristic_us = 0;  ///< medians
  unsigned runs = 0;                       ///< timed runs of all candidates
  std::int64_t date = 0;                   ///< seconds since the epoch
  std::string name;                        ///< entry point of the kernel, for people
  friend bool operator==(const TuningRecord&, const TuningRecord&) = default;
};

/// "kiln-tuning<tab>1<tab>kernel=...<tab>...<tab>sum=0123456789abcdef\n": fields in one order, a checksum last. Equal
/// records give equal lines.
std::string to_line(const TuningRecord& record);
/// False for anything that is not exactly such a line (without or with its line end) of this version.
bool parse_line(std::string_view line, TuningRecord& record);

/// The lines of `text` that are records. Others are counted, not fatal: other versions may be among them.
std::vector<TuningRecord> parse_records(std::string_view text, std::size_t& rejected);
/// Sorted, one record per key: the newest one, of equal dates the one of more runs. Merging is associative, commutative
/// and idempotent, so files may be merged in any order.
void merge_records(std::vector<TuningRecord>& records);
/// True if `a` takes the place of `b`, which has the same key.
bool supersedes(const TuningRecord& a, const TuningRecord& b);

}  // namespace kiln::runtime
