// runtime/compile_report.cpp -- parses ptxas and NVRTC logs.
#include "runtime/compile_report.h"

#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace kiln::runtime {
namespace {

constexpr int context_lines = 4;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

std::optional<int> to_int(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end == digits.data()) return std::nullopt;
  return value;
}

/// The number before `unit`, as in "32 registers".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos || at < 2) return std::nullopt;
  std::size_t start = at - 1;  // the blank before the unit
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  return to_int(line.substr(start, at - 1 - start));
}

bool is_resource_line(std::string_view line) {
  return line.starts_with("ptxas info") || line.find("bytes stack frame") != std::string_view::npos;
}

struct Place {
  std::string file;
  int line = 0;
};

/// "name(12): error: ..." taken apart.
std::optional<Place> first_error(std::string_view log) {
  for (const std::string_view line : lines_of(log)) {
    const std::size_t close = line.find("): ");
    const std::size_t open = close == std::string_view::npos ? close : line.rfind('(', close);
    if (open == std::string_view::npos || line.substr(close).find("error") == std::string_view::npos) continue;
    if (const auto number = to_int(line.substr(open + 1, close - open - 1)))
      return Place{std::string(line.substr(0, open)), *number};
  }
  return std::nullopt;
}

/// `#line 12 "file"`: the place of the next line.
std::optional<Place> line_directive(std::string_view line) {
  if (!line.starts_with("#line ")) return std::nullopt;
  const auto number = to_int(line.substr(6));
  const std::size_t open = line.find('"'), close = line.rfind('"');
  if (!number) return std::nullopt;
  return Place{open < close ? std::string(line.substr(open + 1, close - open - 1)) : std::string(), *number};
}

/// Index of the physical line that the compiler calls `place`.
std::optional<std::size_t> find_line(const std::vector<std::string_view>& lines, std::string_view source_name,
                                     const Place& place) {
  Place here{std::string(source_name), 1};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto directive = line_directive(lines[i])) {
      if (!directive->file.empty()) here.file = directive->file;
      here.line = directive->line;
      continue;
    }
    if (here.line == place.line && here.file == place.file) return i;
    ++here.line;
  }
  return std::nullopt;
}

}  // namespace

void read_resources(std::string_view log, std::string_view entry, Binary& binary) {
  bool ours = false;
  for (const std::string_view line : lines_of(log)) {
    if (const std::size_t at = line.find("entry function '"); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + 16);
      ours = name.substr(0, name.find('\'')) == entry;
    }
    if (!ours) continue;
    if (const auto registers = number_before(line, "registers")) {
      binary.registers = *registers;
      binary.shared_bytes = number_before(line, "bytes smem").value_or(0);
    }
    if (const auto frame = number_before(line, "bytes stack frame")) {
      binary.local_bytes = *frame;
      binary.spill_bytes =
          number_before(line, "bytes spill stores").value_or(0) + number_before(line, "bytes spill loads").value_or(0);
    }
  }
}

std::string global_functions(std::string_view source) {
  constexpr std::string_view keyword = "__global__", bounds = "__launch_bounds__";
  std::string names;
  for (std::size_t at = source.find(keyword); at != std::string_view::npos; at = source.find(keyword, at + 1)) {
    std::size_t open = source.find('(', at);
    if (const std::size_t b = source.find(bounds, at); b < open) open = source.find('(', source.find(')', b));
    if (open == std::string_view::npos) break;
    const std::string_view head = source.substr(at, open - at);
    const std::size_t last = head.find_last_not_of(" \t\r\n");
    const std::size_t start = head.find_last_of(" \t\r\n*>)", last) + 1;
    if (start > last) continue;
    names += (names.empty() ? "" : ", ") + std::string(head.substr(start, last + 1 - start));
  }
  return names;
}

std::string readable_log(std::string_view log) {
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.remove_suffix(1);
  std::string text;
  for (const std::string_view line : lines_of(log))
    if (!is_resource_line(line)) fmt::format_to(std::back_inserter(text), "{}\n", line);
  return text;
}

std::string source_excerpt(std::string_view source, std::string_view source_name, std::string_view log) {
  const std::optional<Place> place = first_error(log);
  if (!place) return "";
  const std::vector<std::string_view> lines = lines_of(source);
  const std::optional<std::size_t> found = find_line(lines, source_name, *place);
  if (!found) return "";
  const std::size_t first = *found < context_lines ? 0 : *found - context_lines;
  const std::size_t last = std::min(lines.size(), *found + context_lines + 1);
  std::string text;
  for (std::size_t i = first; i < last; ++i)
    fmt::format_to(std::back_inserter(text), "{} {:5} | {}\n", i == *found ? '>' : ' ', i + 1, lines[i]);
  return text;
}

}  // namespace kiln::runtime
