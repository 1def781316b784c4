// runtime/bundle_difference.cpp -- compares options and titles, which are all that a bundle tells of a source.
#include "runtime/bundle_difference.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::runtime {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// The words of `a` that `b` lacks.
std::string words_without(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> others = words_of(b);
  std::string text;
  for (const std::string_view word : words_of(a)) {
    if (std::find(others.begin(), others.end(), word) != others.end()) continue;
    text += (text.empty() ? "" : " ") + std::string(word);
  }
  return text;
}

void compare(std::vector<std::string>& found, std::string_view field, std::string_view theirs,
             std::string_view wanted) {
  if (theirs == wanted) return;
  const auto shown = [](std::string_view text) { return text.empty() ? std::string_view("none") : text; };
  found.push_back(fmt::format("{} {} instead of {}", field, shown(theirs), shown(wanted)));
}

/// Takes what stands behind `mark` off the end of `text`.
std::string_view take_behind(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  if (at == text.npos) return {};
  const std::string_view behind = text.substr(at + mark.size());
  text = text.substr(0, at);
  return behind;
}

}  // namespace

std::string options_text(const CompileOptions& options) {
  std::string text =
      fmt::format("contract={} fast_math={} lineinfo={}", options.contract, options.fast_math, options.lineinfo);
  for (const std::string& option : options.extra) text += " " + option;
  return text;
}

TitleParts parts_of_title(std::string_view title) {
  TitleParts parts;
  parts.schedule = take_behind(title, "; schedule: ");
  parts.index = title.ends_with("; 64-bit index") ? "64-bit" : "32-bit";
  if (title.ends_with("; 64-bit index")) title.remove_suffix(std::string_view("; 64-bit index").size());
  parts.results = take_behind(title, " -> ");
  parts.operands = take_behind(title, ": ");
  parts.what = title;
  return parts;
}

std::vector<std::string> differences(const BundleKernel& kernel, const KernelSource& source,
                                     const CompileOptions& options) {
  std::vector<std::string> found;
  const std::string wanted_options = options_text(options);
  if (!kernel.options.empty() && kernel.options != wanted_options)
    compare(found, "options", words_without(kernel.options, wanted_options),
            words_without(wanted_options, kernel.options));
  if (source.title.empty()) return found;
  const std::string wanted_title = bundle_text(source.title);
  const TitleParts theirs = parts_of_title(kernel.title), wanted = parts_of_title(wanted_title);
  compare(found, "the expression", theirs.what, wanted.what);
  compare(found, "operands", theirs.operands, wanted.operands);
  compare(found, "results", theirs.results, wanted.results);
  compare(found, "index", theirs.index, wanted.index);
  compare(found, "the schedule", theirs.schedule, wanted.schedule);
  return found;
}

}  // namespace kiln::runtime
