// runtime/tuning_job.cpp -- tuning jobs as text.
#include "runtime/tuning_job.h"

#include <sys/stat.h>

#include <charconv>

#include <fmt/format.h>

#include "support/file_system.h"
#include "support/files.h"
#include "support/hash.h"

namespace kiln::runtime {
namespace {

constexpr std::string_view head = "kiln tuning job 1\n";
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr std::size_t most_items = 256, longest_text = std::size_t{1} << 24, largest_image = std::size_t{1} << 16;

class Writer {
 public:
  template <class... Numbers>
  void numbers(const char* name, Numbers... values) {
    text_ += name;
    ((text_ += fmt::format(" {}", values)), ...);
    text_ += '\n';
  }
  void text(const char* name, std::string_view value) {
    text_ += fmt::format("{} {}\n", name, value.size());
    text_ += value;
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_{head};
};

/// Takes the same apart. After the first thing that is not as expected nothing is.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  template <class... Numbers>
  void numbers(const char* name, Numbers&... values) {
    std::string_view line = take_line(name);
    (number(line, values), ...);
    good_ = good_ && line.empty();
  }
  std::string text(const char* name) {
    std::size_t size = 0;
    numbers(name, size);
    good_ = good_ && size <= longest_text && size < rest_.size() && rest_[size] == '\n';
    if (!good_) return "";
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size + 1);
    return value;
  }
  bool is_good() const { return good_; }
  bool is_at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view take_line(std::string_view name) {
    const std::size_t end = rest_.find('\n');
    good_ = good_ && end != std::string_view::npos && rest_.starts_with(name);
    if (!good_) return {};
    const std::string_view line = rest_.substr(name.size(), end - name.size());
    rest_.remove_prefix(end + 1);
    return line;
  }
  template <class Number>
  void number(std::string_view& line, Number& value) {
    good_ = good_ && line.starts_with(' ');
    if (!good_) return;
    const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), value);
    good_ = error == std::errc();
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  }
  std::string_view rest_;
  bool good_ = true;
};

void write_candidate(Writer& w, const TuningJob::Candidate& candidate) {
  const LaunchShape& s = candidate.shape;
  w.text("candidate", candidate.name);
  w.numbers("shape", s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared_bytes, s.cluster,
            s.workspace_bytes, s.counters);
  w.numbers("arguments", candidate.source.argument_bytes, candidate.source.max_threads);
  w.text("entry", candidate.source.entry);
  w.text("source", candidate.source.text);
}

TuningJob::Candidate read_candidate(Reader& r) {
  TuningJob::Candidate candidate;
  LaunchShape& s = candidate.shape;
  candidate.name = r.text("candidate");
  r.numbers("shape", s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2], s.shared_bytes, s.cluster,
            s.workspace_bytes, s.counters);
  r.numbers("arguments", candidate.source.argument_bytes, candidate.source.max_threads);
  candidate.source.entry = r.text("entry");
  candidate.source.text = r.text("source");
  return candidate;
}

/// Why the numbers of a job cannot be: a launch must not write outside of what was allocated for it.
std::string inconsistency(const TuningJob& job) {
  const auto fits = [&](std::int64_t at) { return at >= 0 && at + 8 <= static_cast<std::int64_t>(job.image.size()); };
  for (const TuningJob::Buffer& buffer : job.buffers) {
    if (!fits(buffer.at) || buffer.bytes > most_bytes || buffer.offset >= buffer.bytes) return "a buffer lies outside";
  }
  if ((job.workspace_at >= 0 && !fits(job.workspace_at)) || (job.counters_at >= 0 && !fits(job.counters_at)))
    return "an argument lies outside of the block";
  for (const TuningJob::Candidate& candidate : job.candidates) {
    if (candidate.source.argument_bytes != job.image.size()) return "a candidate takes other arguments";
    if (candidate.shape.workspace_bytes > most_bytes) return "a workspace is too large";
    if ((candidate.shape.workspace_bytes > 0 && job.workspace_at < 0) ||
        (candidate.shape.counters > 0 && job.counters_at < 0))
      return "a candidate needs what the arguments do not have";
  }
  return job.bytes > 0 ? "" : "nothing is moved";
}

}  // namespace

std::string to_text(const TuningJob& job) {
  Writer w;
  w.text("kernel", job.key.kernel);
  w.numbers("size", job.key.size, job.key.any_order ? 1 : 0, job.bytes);
  w.text("name", job.name);
  w.text("arch", job.options.arch);
  w.numbers("options", job.options.contract ? 1 : 0, job.options.fast_math ? 1 : 0);
  w.text("image", {reinterpret_cast<const char*>(job.image.data()), job.image.size()});
  w.numbers("at", job.workspace_at, job.counters_at);
  w.numbers("buffers", job.buffers.size());
  for (const TuningJob::Buffer& buffer : job.buffers) w.numbers("buffer", buffer.at, buffer.bytes, buffer.offset);
  w.numbers("candidates", job.candidates.size());
  for (const TuningJob::Candidate& candidate : job.candidates) write_candidate(w, candidate);
  const std::string text = w.take();
  return text + to_hex(blake3(text)) + "\n";
}

bool parse_job(std::string_view text, TuningJob& job, std::string& problem) {
  constexpr std::size_t sum_line = 65;
  problem = "it is no tuning job of this version";
  if (!text.starts_with(head) || text.size() < head.size() + sum_line) return false;
  const std::string_view content = text.substr(0, text.size() - sum_line);
  problem = "it is damaged";
  if (text.substr(content.size()) != to_hex(blake3(content)) + "\n") return false;
  Reader r(content.substr(head.size()));
  TuningJob read;
  int any_order = 0, contract = 0, fast_math = 0;
  std::size_t buffers = 0, candidates = 0;
  read.key.kernel = r.text("kernel");
  r.numbers("size", read.key.size, any_order, read.bytes);
  read.name = r.text("name");
  read.options.arch = r.text("arch");
  r.numbers("options", contract, fast_math);
  const std::string image = r.text("image");
  read.image.assign(image.begin(), image.end());
  r.numbers("at", read.workspace_at, read.counters_at);
  r.numbers("buffers", buffers);
  if (!r.is_good() || buffers > most_items || image.size() > largest_image) return false;
  for (std::size_t b = 0; b < buffers; ++b) {
    TuningJob::Buffer& buffer = read.buffers.emplace_back();
    r.numbers("buffer", buffer.at, buffer.bytes, buffer.offset);
  }
  r.numbers("candidates", candidates);
  if (!r.is_good() || candidates < 2 || candidates > most_items) return false;
  for (std::size_t c = 0; c < candidates && r.is_good(); ++c) read.candidates.push_back(read_candidate(r));
  if (!r.is_at_end()) return false;
  read.key.any_order = any_order == 1;
  read.options.contract = contract == 1, read.options.fast_math = fast_math == 1;
  problem = inconsistency(read);
  if (!problem.empty()) return false;
  job = std::move(read);
  return true;
}

int keep_job(const std::string& directory, const TuningJob& job) {
  const std::string path = directory + "/" + job.key.digest() + ".job";
  struct stat status{};
  if (files::status_of(path, status) == 0) return 0;
  if (const int error = files::make_directories(directory)) return error;
  return files::publish(path, to_text(job));
}

}  // namespace kiln::runtime
