// runtime/record_file.cpp -- prints and reads records of kernels.
#include "runtime/record_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>

#include "runtime/kernel_identity.h"
#include "support/check.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr std::string_view header = "kiln record 1\n";
constexpr std::string_view header_start = "kiln record ";
constexpr std::size_t checksum_bytes = 8;
static_assert(record_end_size == 4 + 2 * checksum_bytes);

std::string checksum(std::string_view record) { return to_hex(blake3(record), checksum_bytes); }

std::string in_one_line(std::string_view value) {
  std::string line;
  for (const char c : value) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  return line;
}

void add_block(std::string& text, std::string_view block) {
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    const bool is_whole = end != block.npos;
    text.append(is_whole ? "| " : "|-").append(block.substr(0, end)) += '\n';
    block.remove_prefix(is_whole ? end + 1 : block.size());
  }
}

/// Reads one text line by line; what is wrong is told with its line.
class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(&name) {}

  bool next() {
    if (at_ >= text_.size()) return false;
    start_ = at_;
    const std::size_t end = text_.find('\n', at_);
    whole_ = end != text_.npos;
    line_ = text_.substr(at_, whole_ ? end - at_ : text_.npos);
    at_ = whole_ ? end + 1 : text_.size();
    ++number_;
    return true;
  }
  std::string_view line() const { return line_; }
  bool is_whole() const { return whole_; }
  std::size_t start() const { return start_; }
  std::size_t at() const { return at_; }
  int number() const { return number_; }
  std::string_view since(std::size_t start) const { return text_.substr(start, start_ - start); }
  /// The rest of the line, if it begins with `word` and a space.
  bool take(std::string_view word, std::string& value) const {
    if (!line_.starts_with(word) || line_.size() <= word.size() || line_[word.size()] != ' ') return false;
    value.clear();
    for (std::size_t i = word.size() + 1; i < line_.size(); ++i) {
      if (line_[i] == '\\' && i + 1 < line_.size()) {
        ++i;
        value += line_[i] == 'n' ? '\n' : line_[i];
      } else {
        value += line_[i];
      }
    }
    return true;
  }
  /// Goes on in the middle of a line that was read before: the next one is its rest.
  void go_back(const Reader& line, std::size_t offset) {
    at_ = line.start_ + offset;
    number_ = line.number_ - 1;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    if (line_.ends_with('\r')) refuse_crlf();
    fail<IoError>("{}:{}: {}. Remove the file and record again: KILN_RECORD={} ./app", *name_, number_, what, *name_);
  }

  [[noreturn]] void refuse_crlf() const { fail<IoError>("{}:{}: {}", *name_, number_, record_crlf_text(*name_)); }

 private:
  std::string_view text_, line_;
  const std::string* name_;
  std::size_t at_ = 0, start_ = 0;
  int number_ = 0;
  bool whole_ = false;
};

template <class N>
bool read_number(const std::string& text, N& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// One line of a record; false if it is none that this version knows.
bool take_field(const Reader& reader, RecordedKernel& kernel, std::string*& block) {
  std::string value;
  const std::string_view line = reader.line();
  if (line.starts_with("| ") || line.starts_with("|-")) {
    if (!block) return false;
    block->append(line.substr(2));
    if (line[1] == ' ') *block += '\n';
    return true;
  }
  block = nullptr;
  KernelSource& source = kernel.source;
  if (reader.take("title", kernel.title) || reader.take("at", kernel.place) || reader.take("entry", source.entry) ||
      reader.take("expression", source.expression))
    return true;
  if (reader.take("for", value)) {
    kernel.targets = words_of(value);
  } else if (reader.take("language", value)) {
    if (value != "cuda" && value != "llvm") return false;
    source.language = value == "cuda" ? Language::cuda : Language::llvm_ir;
  } else if (reader.take("threads", value)) {
    return read_number(value, source.max_threads);
  } else if (reader.take("arguments", value)) {
    return read_number(value, source.argument_bytes);
  } else if (reader.take("flags", value)) {
    kernel.options.contract = value.find("contract") != value.npos;
    kernel.options.fast_math = value.find("fast_math") != value.npos;
    kernel.options.lineinfo = value.find("lineinfo") != value.npos;
  } else if (reader.take("option", value)) {
    kernel.options.extra.push_back(value);
  } else if (reader.take("header", value)) {
    source.headers.emplace_back(value, "");
    block = &source.headers.back().second;
  } else if (line == "source") {
    block = &source.text;
  } else {
    return false;
  }
  return true;
}

/// A record that was appended to an unfinished one without a line end between: the reader goes on there.
bool go_to_joined_record(Reader& reader, Reader line, int last) {
  const int first = line.number();
  for (bool more = true; more && line.number() <= last; more = line.next()) {
    const std::string_view text = line.line();
    const std::size_t from = line.number() == first ? 1 : 0;
    const std::size_t at = record_start(text.substr(from));
    if (at == text.npos || at + from == 0) continue;
    reader.go_back(line, at + from);
    return true;
  }
  return false;
}

/// The record whose "kernel" line was just read. False if it was never finished: its process was killed, and what
/// follows, if anything does, is the next record.
bool read_record(Reader& reader, RecordedKernel& kernel) {
  const std::size_t start = reader.start();
  const int first = reader.number();
  const Reader first_line = reader;
  std::string identity, sum;
  reader.take("kernel", identity);
  std::string* block = nullptr;
  for (Reader line = reader; line.next(); reader = line) {
    if (line.line().starts_with("kernel ")) return false;
    if (line.take("end", sum) && sum.size() == 2 * checksum_bytes) {
      kernel.identity = kernel_identity(kernel.source, kernel.options);
      const bool same = sum == checksum(line.since(start)) && identity == to_hex(kernel.identity);
      if (!same && go_to_joined_record(reader, first_line, line.number())) return false;
      if (!same) line.refuse(fmt::format("the record that begins at line {} does not match its checksum", first));
      reader = line;
      return true;
    }
    if (take_field(line, kernel, block)) continue;
    Reader following = line;
    if (!following.next() || following.line().starts_with("kernel ")) {
      reader = line;
      return false;
    }
    if (go_to_joined_record(reader, first_line, line.number())) return false;
    // Whether this is damage or a field of a newer kiln, a kernel made without it would be another one.
    line.refuse("this line is none that a record of this version has");
  }
  return false;
}

std::string read_whole(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    fail<IoError>("{} cannot be read: {}. KILN_RECORD={} ./app writes it", path, files::error_text(errno ? errno : EIO),
                  path);
  return text;
}

}  // namespace

std::string_view record_header() { return header; }

std::size_t record_start(std::string_view line) {
  constexpr std::string_view word = "kernel ";
  constexpr std::size_t digits = 2 * sizeof(Digest);
  const std::size_t start = line.starts_with(word) ? 0 : line.npos;
  if (line.size() < word.size() + digits) return start;
  const std::size_t at = line.size() - word.size() - digits;
  const std::string_view end = line.substr(at);
  const bool is_start =
      end.starts_with(word) && end.find_first_not_of("0123456789abcdef", word.size()) == std::string_view::npos;
  return is_start ? at : start;
}

std::string record_crlf_text(const std::string& name) {
  return fmt::format(
      "its lines end in CR LF (\\r\\n), as an editor or a transfer in text mode on Windows leaves them, and the "
      "checksums "
      "of its records hold for LF only. Turn them back: sed -i 's/\\r$//' {}",
      name);
}

std::string to_text(const RecordedKernel& kernel) {
  const KernelSource& source = kernel.source;
  std::string text = fmt::format("kernel {}\ntitle {}\nat {}\nfor {}\nlanguage {}\nentry {}\n", to_hex(kernel.identity),
                                 in_one_line(kernel.title), in_one_line(kernel.place), fmt::join(kernel.targets, " "),
                                 source.language == Language::cuda ? "cuda" : "llvm", in_one_line(source.entry));
  if (!source.expression.empty()) text += fmt::format("expression {}\n", in_one_line(source.expression));
  text += fmt::format("threads {}\narguments {}\n", source.max_threads, source.argument_bytes);
  text += fmt::format("flags {}{}{}\n", kernel.options.contract ? "contract " : "",
                      kernel.options.fast_math ? "fast_math " : "", kernel.options.lineinfo ? "lineinfo " : "");
  for (const std::string& option : kernel.options.extra) text += fmt::format("option {}\n", in_one_line(option));
  for (const auto& [name, contents] : source.headers) {
    text += fmt::format("header {}\n", in_one_line(name));
    add_block(text, contents);
  }
  text += "source\n";
  add_block(text, source.text);
  text += fmt::format("end {}\n", checksum(text));
  return text;
}

void RecordSet::add_file(const std::string& path) { add_text(read_whole(path), path); }

void RecordSet::add_text(std::string_view text, const std::string& name) {
  Reader reader(text, name);
  if (text.empty()) fail<IoError>("{} is empty: no kernel was recorded in it", name);
  const std::size_t before = lost_.size();
  bool begun = false;
  while (reader.next()) {
    const std::string_view line = reader.line();
    if (line.starts_with(header_start)) {
      if (line.ends_with('\r')) reader.refuse_crlf();
      if (line != header.substr(0, header.size() - 1))
        reader.refuse(fmt::format("\"{}\" is of another version of kiln, which reads \"{}\"", line,
                                  header.substr(0, header.size() - 1)));
      begun = true;
      continue;
    }
    if (!begun) fail<IoError>("{} is no record of kernels: it does not begin with \"kiln record\"", name);
    if (line.empty()) continue;
    if (!line.starts_with("kernel ")) {
      if (const std::size_t joined = record_start(line); joined != line.npos) {
        lose(fmt::format("line {}", reader.number()), "");
        reader.go_back(reader, joined);
        continue;
      }
      if (!std::string_view("kernel ").starts_with(line)) reader.refuse("a record was expected here");
      lose(fmt::format("line {}", reader.number()), "");
      continue;
    }
    RecordedKernel kernel;
    const int first = reader.number();
    const std::string_view identity = line.substr(std::string_view("kernel ").size(), 2 * sizeof(Digest));
    if (read_record(reader, kernel))
      add(std::move(kernel));
    else
      lose(fmt::format("line {}{}{}{}{}", first, kernel.title.empty() ? "" : ", ", kernel.title,
                       kernel.place.empty() ? "" : ", ", kernel.place),
           identity);
  }
  warn_of_losses(name, before);
}

void RecordSet::lose(std::string what, std::string_view identity) {
  lost_.push_back({std::move(what), std::string(identity)});
}

std::size_t RecordSet::unfinished() const {
  return static_cast<std::size_t>(
      std::count_if(lost_.begin(), lost_.end(), [this](const Lost& lost) { return !is_recorded(lost); }));
}

/// Whether the kernel was recorded once more: half of an identity names it.
bool RecordSet::is_recorded(const Lost& lost) const {
  return lost.identity.size() >= sizeof(Digest) &&
         std::any_of(kernels_.begin(), kernels_.end(),
                     [&](const RecordedKernel& kernel) { return to_hex(kernel.identity).starts_with(lost.identity); });
}

void RecordSet::warn_of_losses(const std::string& name, std::size_t before) const {
  std::vector<std::string> missing;
  for (std::size_t i = before; i < lost_.size(); ++i)
    if (!is_recorded(lost_[i])) missing.push_back(lost_[i].what);
  const std::size_t count = missing.size();
  if (count == 0) return;
  warn_once(fmt::format(
      "{}: {} record{} never finished, for the process that wrote {} was killed, and {} skipped: {}. Run the program "
      "again with KILN_RECORD={} to have {}",
      name, count, count == 1 ? " was" : "s were", count == 1 ? "it" : "them", count == 1 ? "is" : "are",
      fmt::join(missing, "; "), name, count == 1 ? "it" : "them"));
}

void RecordSet::add(RecordedKernel kernel) {
  std::sort(kernel.targets.begin(), kernel.targets.end());
  const auto place =
      std::lower_bound(kernels_.begin(), kernels_.end(), kernel.identity,
                       [](const RecordedKernel& known, const Digest& wanted) { return known.identity < wanted; });
  if (place == kernels_.end() || place->identity != kernel.identity) {
    kernels_.insert(place, std::move(kernel));
    return;
  }
  for (std::string& target : kernel.targets) {
    const auto at = std::lower_bound(place->targets.begin(), place->targets.end(), target);
    if (at == place->targets.end() || *at != target) place->targets.insert(at, std::move(target));
  }
  // The same whatever the order of the files.
  if (std::pair(kernel.place, kernel.title) < std::pair(place->place, place->title)) {
    place->place = std::move(kernel.place);
    place->title = std::move(kernel.title);
  }
}

}  // namespace kiln::runtime
