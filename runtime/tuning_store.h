// runtime/tuning_store.h -- where results of tuning are kept: in memory, and beside the disk cache, a file per record.
//
// A file per record needs no lock among processes: each is published whole, and a later result replaces an earlier one.
// Nothing here throws for what a file system does; a file that is not a valid record of its key is as good as none.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/cache_settings.h"
#include "runtime/tuning_record.h"
#include "support/fork_safe.h"

namespace kiln::runtime {

class TuningStore {
 public:
  explicit TuningStore(CacheSettings settings) : settings_(std::move(settings)) {}
  /// The process's own, in the directory of KILN_CACHE_DIR; never destroyed.
  static TuningStore& instance();

  /// What is known of `key`: found by this process, on disk, or imported. The disk is asked once per key.
  std::optional<TuningRecord> find(const TuningKey& key);
  /// Keeps a result, and writes it where the cache may be written. False if it was not written.
  bool publish(const TuningRecord& record);
  /// Everything on disk and in memory, merged: sorted lines that import_records() reads on any machine.
  std::string export_records();
  std::vector<TuningRecord> records();
  struct Import {
    std::size_t taken = 0, known = 0, rejected = 0;  ///< lines; known: a newer result of the same key is there
    std::size_t unwritten = 0;                       ///< of those taken
  };
  /// Takes lines of export_records(). `keep`: also writes them to disk; else they serve this process only, as the
  /// records of a bundle do, and what was measured here comes first.
  Import import_records(std::string_view text, bool keep);
  /// Removes the records of `device`, or all of them; their number is returned.
  std::size_t forget(const std::string& device);

  /// "": where there is no place for records, with the reason in cache_settings().
  std::string directory() const;
  /// Why no record can be written, before any is tried; makes the directory. "" if one may be.
  std::string why_unwritable() const;
  std::string path_of(const TuningKey& key) const { return directory() + "/" + key.digest() + ".tuning"; }

 private:
  bool may_read();
  bool write(const TuningRecord& record);
  std::vector<TuningRecord> on_disk();

  const CacheSettings settings_;
  ForkSafeMutex mutex_;
  std::unordered_map<std::string, std::optional<TuningRecord>> known_;  ///< by digest; empty: not on disk
  std::unordered_map<std::string, TuningRecord> imported_;
  bool checked_ = false, readable_ = false;
};

}  // namespace kiln::runtime
