// runtime/tuning_store.cpp -- files of tuning records: one line each, named after what they are about.
#include "runtime/tuning_store.h"

#include <cerrno>

#include <fmt/format.h>

#include "support/files.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr std::uint64_t largest_file = 4096;
constexpr std::string_view extension = ".tuning";

/// A fault of the file system that is worth a word, once; the process goes on without.
void report(const std::string& what, int error) {
  warn_once(fmt::format("tuning: {}: {}; results are kept for this process only", what, files::error_text(error)));
}

void report_distrust(const std::string& directory, const std::string& doubt) {
  warn_once(fmt::format(
      "tuning: {} is not used: {}; results are kept for this process only (make it yours alone, or name another place "
      "with KILN_CACHE_DIR)",
      directory, doubt));
}

}  // namespace

TuningStore& TuningStore::instance() {
  static constinit Leaked<TuningStore> store;
  return store.get([] { return new TuningStore(cache_settings()); });
}

std::string TuningStore::directory() const {
  return settings_.directory.empty() ? "" : settings_.directory + "/tuning";
}

/// Only a directory that nobody else can write decides what runs here. Called with the lock held.
bool TuningStore::may_read() {
  if (checked_) return readable_;
  if (settings_.mode == CacheMode::off || settings_.directory.empty()) return false;
  const std::string doubt = files::distrust(directory());
  if (doubt == files::error_text(ENOENT)) return false;  // it may be made later
  checked_ = true;
  readable_ = doubt.empty();
  if (!readable_) report_distrust(directory(), doubt);
  return readable_;
}

std::optional<TuningRecord> TuningStore::find(const TuningKey& key) {
  const std::string digest = key.digest();
  const std::lock_guard lock(mutex_);
  auto known = known_.find(digest);
  if (known == known_.end()) {
    std::string file;
    TuningRecord record;
    std::optional<TuningRecord> found;
    if (may_read() && files::read_private(path_of(key), {.limit = largest_file}, file) == 0) {
      if (parse_line(file, record) && record.key == key) {
        found = std::move(record);
      } else {
        KILN_LOG(1, "tuning: {} is ignored: it is no record of this kernel", path_of(key));
      }
    }
    known = known_.emplace(digest, std::move(found)).first;
  }
  if (known->second) return known->second;
  const auto imported = imported_.find(digest);
  if (imported != imported_.end() && imported->second.key == key) return imported->second;
  return std::nullopt;
}

std::string TuningStore::why_unwritable() const {
  if (settings_.directory.empty()) return settings_.problem.empty() ? "there is no place for them" : settings_.problem;
  if (settings_.mode != CacheMode::on)
    return settings_.mode == CacheMode::off ? "KILN_CACHE is off" : "KILN_CACHE is ro";
  if (const int error = files::make_directories(directory())) return files::error_text(error);
  return files::distrust(directory());
}

bool TuningStore::write(const TuningRecord& record) {
  if (settings_.mode != CacheMode::on || settings_.directory.empty()) return false;
  const std::string path = path_of(record.key);
  int error = files::make_directories(directory());
  if (const std::string doubt = error ? "" : files::distrust(directory()); !doubt.empty()) {
    report_distrust(directory(), doubt);
    return false;
  }
  if (!error) error = files::publish(path, to_line(record));
  if (error) report("writing " + path, error);
  return error == 0;
}

bool TuningStore::publish(const TuningRecord& record) {
  {
    const std::lock_guard lock(mutex_);
    known_[record.key.digest()] = record;
  }
  return write(record);
}

std::vector<TuningRecord> TuningStore::on_disk() {
  std::vector<TuningRecord> records;
  std::vector<files::Entry> entries;
  {
    const std::lock_guard lock(mutex_);
    if (!may_read()) return records;
  }
  files::list(directory(), entries);
  for (const files::Entry& entry : entries) {
    if (entry.directory || !entry.name.ends_with(extension)) continue;
    std::string file;
    TuningRecord record;
    if (files::read_private(directory() + "/" + entry.name, {.limit = largest_file}, file) != 0) continue;
    if (parse_line(file, record) && entry.name == record.key.digest() + std::string(extension))
      records.push_back(std::move(record));
  }
  return records;
}

std::vector<TuningRecord> TuningStore::records() {
  std::vector<TuningRecord> records = on_disk();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [digest, record] : known_)
      if (record) records.push_back(*record);
    for (const auto& [digest, record] : imported_)
      if (!known_.contains(digest) || !known_[digest]) records.push_back(record);
  }
  merge_records(records);
  return records;
}

std::string TuningStore::export_records() {
  std::string text;
  for (const TuningRecord& record : records()) text += to_line(record);
  return text;
}

TuningStore::Import TuningStore::import_records(std::string_view text, bool keep) {
  Import result;
  std::vector<TuningRecord> records = parse_records(text, result.rejected);
  const std::size_t lines = records.size();
  merge_records(records);
  result.known = lines - records.size();
  for (TuningRecord& record : records) {
    if (!keep) {
      const std::lock_guard lock(mutex_);
      TuningRecord& slot = imported_[record.key.digest()];
      if (slot.choice.empty() || supersedes(record, slot)) slot = std::move(record);
      ++result.taken;
      continue;
    }
    const std::optional<TuningRecord> present = find(record.key);
    if (present && !supersedes(record, *present)) {
      ++result.known;
      continue;
    }
    ++result.taken;
    result.unwritten += !publish(record);
  }
  return result;
}

std::size_t TuningStore::forget(const std::string& device) {
  std::size_t removed = 0;
  for (const TuningRecord& record : on_disk()) {
    if (device.empty() || record.key.device == device) removed += files::remove(path_of(record.key)) == 0;
  }
  const std::lock_guard lock(mutex_);
  const auto is_of = [&](const TuningRecord& record) { return device.empty() || record.key.device == device; };
  std::erase_if(known_, [&](const auto& item) { return item.second && is_of(*item.second); });
  std::erase_if(imported_, [&](const auto& item) { return is_of(item.second); });
  return removed;
}

}  // namespace kiln::runtime
