// runtime/tuning_record.cpp -- writing, reading and merging lines of tuning records.
#include "runtime/tuning_record.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include <fmt/format.h>

#include "support/hash.h"

namespace kiln::runtime {
namespace {

constexpr std::string_view head = "kiln-tuning\t1\t";
constexpr std::string_view sum_field = "\tsum=";
constexpr std::size_t sum_digits = 16;
constexpr std::size_t longest_line = 2048;
constexpr std::size_t longest_text = 256;

/// Text of a field: device names and entry points come from outside.
std::string clean(std::string_view text) {
  std::string result(text.substr(0, longest_text));
  std::replace_if(result.begin(), result.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return result;
}

bool is_clean(std::string_view text) {
  return text.size() <= longest_text &&
         std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// Reads "name=value<tab>" fields one after another.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  bool text(std::string_view name, std::string& value) {
    std::string_view field;
    if (!next(name, field) || !is_clean(field)) return false;
    value = field;
    return true;
  }
  template <class Number>
  bool number(std::string_view name, Number& value) {
    std::string_view field;
    if (!next(name, field)) return false;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    return error == std::errc() && end == field.data() + field.size();
  }
  bool is_at_end() const { return rest_.empty(); }

 private:
  bool next(std::string_view name, std::string_view& value) {
    const std::size_t end = std::min(rest_.find('\t'), rest_.size());
    const std::string_view field = rest_.substr(0, end);
    rest_.remove_prefix(std::min(rest_.size(), end + 1));
    if (!field.starts_with(name) || field.size() <= name.size() || field[name.size()] != '=') return false;
    value = field.substr(name.size() + 1);
    return true;
  }
  std::string_view rest_;
};

std::string checksum(std::string_view text) { return to_hex(blake3(text), sum_digits / 2); }

bool is_plausible(const TuningRecord& record) {
  const std::string& kernel = record.key.kernel;
  const auto is_time = [](double us) { return us > 0 && us < 1e12; };  // false for NaN
  return kernel.size() == 64 && kernel.find_first_not_of("0123456789abcdef") == std::string::npos &&
         record.key.size >= 0 && record.key.size < 64 && record.key.multiprocessors > 0 && !record.choice.empty() &&
         !record.heuristic.empty() && is_time(record.choice_us) && is_time(record.heuristic_us) && record.date >= 0;
}

auto order(const TuningKey& key) {
  return std::tie(key.device, key.multiprocessors, key.kernel, key.size, key.any_order);
}

}  // namespace

std::string TuningKey::digest() const {
  return to_hex(blake3(fmt::format("{}\t{}\t{}\t{}\t{}", kernel, size, clean(device), multiprocessors, any_order)), 16);
}

std::string to_line(const TuningRecord& record) {
  const TuningKey& key = record.key;
  std::string line = fmt::format(
      "{}kernel={}\tsize={}\tdevice={}\tmultiprocessors={}\tany_order={}\tchoice={}\theuristic={}\tchoice_us={:.3f}"
      "\theuristic_us={:.3f}\truns={}\tdate={}\tname={}",
      head, key.kernel, key.size, clean(key.device), key.multiprocessors, key.any_order ? 1 : 0, clean(record.choice),
      clean(record.heuristic), record.choice_us, record.heuristic_us, record.runs, record.date, clean(record.name));
  line += fmt::format("{}{}\n", sum_field, checksum(line));
  return line;
}

bool parse_line(std::string_view line, TuningRecord& record) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::size_t tail = sum_field.size() + sum_digits;
  if (line.size() > longest_line || line.size() < head.size() + tail || !line.starts_with(head)) return false;
  const std::string_view content = line.substr(0, line.size() - tail);
  const std::string_view sum = line.substr(content.size());
  if (!sum.starts_with(sum_field) || sum.substr(sum_field.size()) != checksum(content)) return false;
  Fields fields(content.substr(head.size()));
  TuningRecord read;
  int any_order = 0;
  const bool whole = fields.text("kernel", read.key.kernel) && fields.number("size", read.key.size) &&
                     fields.text("device", read.key.device) &&
                     fields.number("multiprocessors", read.key.multiprocessors) &&
                     fields.number("any_order", any_order) && fields.text("choice", read.choice) &&
                     fields.text("heuristic", read.heuristic) && fields.number("choice_us", read.choice_us) &&
                     fields.number("heuristic_us", read.heuristic_us) && fields.number("runs", read.runs) &&
                     fields.number("date", read.date) && fields.text("name", read.name) && fields.is_at_end();
  read.key.any_order = any_order == 1;
  if (!whole || any_order < 0 || any_order > 1 || !is_plausible(read)) return false;
  record = std::move(read);
  return true;
}

std::vector<TuningRecord> parse_records(std::string_view text, std::size_t& rejected) {
  std::vector<TuningRecord> records;
  rejected = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.empty()) continue;
    TuningRecord record;
    if (parse_line(line, record)) {
      records.push_back(std::move(record));
    } else {
      ++rejected;
    }
  }
  return records;
}

bool supersedes(const TuningRecord& a, const TuningRecord& b) {
  // The last two only make the order total: merging in any order must give one result.
  return std::tie(a.date, a.runs, a.choice, a.heuristic, a.choice_us, a.heuristic_us, a.name) >
         std::tie(b.date, b.runs, b.choice, b.heuristic, b.choice_us, b.heuristic_us, b.name);
}

void merge_records(std::vector<TuningRecord>& records) {
  std::sort(records.begin(), records.end(), [](const TuningRecord& a, const TuningRecord& b) {
    return a.key == b.key ? supersedes(a, b) : order(a.key) < order(b.key);
  });
  records.erase(std::unique(records.begin(), records.end(),
                            [](const TuningRecord& a, const TuningRecord& b) { return a.key == b.key; }),
                records.end());
}

}  // namespace kiln::runtime
