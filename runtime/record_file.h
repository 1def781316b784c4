// runtime/record_file.h -- the kernels that an application uses, as text: what KILN_RECORD writes and
// `kiln bundle build` reads.
//
// A file is the line "kiln record 1" and records, each from a line "kernel IDENTITY" to a line "end CHECKSUM". Files
// joined by cat are a file; records may come in any order and more than once. Lines of sources and headers stand behind
// "| ", or "|-" where the text ends without a line end; other values are one line, with \n and \\ for line ends and
// backslashes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"
#include "support/kernel.h"

namespace kiln::runtime {

struct RecordedKernel {
  KernelSource source;
  CompileOptions options;            ///< without an architecture
  std::vector<std::string> targets;  ///< "sm_80", "x86-64-v3": machines whose plans use this kernel; sorted
  std::string title;                 ///< for people: what it computes
  std::string place;                 ///< for people: "softmax (model.cpp:12)", its first use
  Digest identity{};
};

std::string to_text(const RecordedKernel& kernel);
/// First line of every file.
std::string_view record_header();
/// What is wrong with a file whose lines end in CR LF, and what to do.
std::string record_crlf_text(const std::string& name);

/// Reads what files hold, one kernel per identity, in the order of identities; targets are joined. IoError names the
/// file, the line, and what to do: the file cannot be read, is none, is of another version, or a record was changed.
/// A record that a killed process left unfinished is skipped, with one warning per file that names those that are lost;
/// `unfinished` counts them. Nothing is lost where a later run recorded the kernel again.
class RecordSet {
 public:
  void add_file(const std::string& path);
  void add_text(std::string_view text, const std::string& name);
  const std::vector<RecordedKernel>& kernels() const { return kernels_; }
  std::size_t unfinished() const;

 private:
  void add(RecordedKernel kernel);
  struct Lost {
    std::string what;      ///< "line 12, softmax (model.cpp:12)"
    std::string identity;  ///< as far as it was written
  };
  void lose(std::string what, std::string_view identity);
  bool is_recorded(const Lost& lost) const;
  void warn_of_losses(const std::string& name, std::size_t before) const;

  std::vector<RecordedKernel> kernels_;
  std::vector<Lost> lost_;
};

/// Of the line "end CHECKSUM".
inline constexpr std::size_t record_end_size = 20;

/// Where a record begins in a line: 0, or behind what a killed process left without a line end. npos: it does not.
std::size_t record_start(std::string_view line);

/// Calls `take(identity, targets)`, both as the file spells them, for each record that seems complete: enough to know
/// what need not be written again.
template <class Take>
void for_each_record_name(std::string_view text, Take take) {
  std::string_view identity, targets;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (const std::size_t at = record_start(line); at != line.npos) identity = line.substr(at + 7), targets = {};
    if (line.starts_with("for ")) targets = line.substr(4);
    if (line.starts_with("end ") && line.size() == record_end_size && !identity.empty())
      take(identity, targets), identity = {};
  }
}

}  // namespace kiln::runtime
