// runtime/bundle/format.cpp -- which texts, kernels and files are acceptable, and what is wrong with others.
#include "runtime/bundle/format.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "runtime/bundle/choose.h"
#include "support/utf8.h"

namespace kiln::runtime {
namespace {

bool is_target_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

std::string bytes_as_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string bundle_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character character = first_utf8_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (result.size() + bytes > BundleLimits::text_bytes) break;
    if (character.bytes && !is_control_character(character.code))
      result += text.substr(0, bytes);
    else
      result += '?';
    text.remove_prefix(bytes);
  }
  return result;
}

namespace bundle_format {

Digest manifest_digest(Header header, std::string_view manifest) {
  std::memset(header.digest, 0, sizeof header.digest);
  const Digest digest = blake3(manifest);
  std::string hashed(reinterpret_cast<const char*>(&header), sizeof header);
  hashed.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return blake3(hashed);
}

std::string text_problem(std::string_view text, const TextRule& rule) {
  if (text.empty()) return rule.may_be_empty ? "" : fmt::format("its {} is empty", rule.name);
  if (text.size() > rule.most_bytes)
    return fmt::format("its {} has {} bytes, more than {}", rule.name, text.size(), rule.most_bytes);
  for (std::size_t at = printable_ascii_bytes(text); at < text.size();) {
    const Utf8Character character = first_utf8_character(text.substr(at));
    if (!character.bytes) return fmt::format("its {} is not UTF-8 at byte {}", rule.name, at);
    const bool is_line = rule.may_have_lines && (character.code == '\n' || character.code == '\t');
    if (is_control_character(character.code) && !is_line)
      return fmt::format("its {} has a control character at byte {}", rule.name, at);
    at += character.bytes;
    at += printable_ascii_bytes(text.substr(at));
  }
  return "";
}

std::string_view text_of(const BundleKernel& kernel, std::uint32_t which) {
  return text_of(const_cast<BundleKernel&>(kernel), which);
}

std::string_view& text_of(BundleKernel& kernel, std::uint32_t which) {
  switch (which) {
    case target:
      return kernel.target;
    case entry:
      return kernel.entry;
    case title:
      return kernel.title;
    case options:
      return kernel.options;
    case compiler:
      return kernel.compiler;
    default:
      return kernel.plan;
  }
}

std::string kernel_problem(const BundleKernel& kernel) {
  for (std::uint32_t i = 0; i < text_count; ++i)
    if (std::string problem = text_problem(text_of(kernel, i), kernel_rules[i]); !problem.empty()) return problem;
  if (!std::all_of(kernel.target.begin(), kernel.target.end(), is_target_character))
    return fmt::format("\"{}\" is no name of a target", kernel.target);
  if (kernel.kind > ImageKind::object) return "its image is of an unknown kind";
  // Targets of later versions are carried along; choose() rejects them.
  if (const auto kind = kind_of_target(kernel.target); kind && *kind != kernel.kind)
    return fmt::format("its image is not of the kind that {} has", kernel.target);
  for (const std::int32_t count : {kernel.registers, kernel.spill_bytes, kernel.shared_bytes, kernel.local_bytes})
    if (count < -1) return "a count of its resources is negative";
  return "";
}

std::string tuning_problem(const BundleTuning& tuning) {
  if (std::string problem = text_problem(tuning.device, device_rule); !problem.empty()) return problem;
  if (std::string problem = text_problem(tuning.record, record_rule); !problem.empty()) return problem;
  return tuning.multiprocessors < 0 ? "its number of multiprocessors is negative" : "";
}

std::string foreign_file(std::string_view start) {
  const std::string build = "build one with `kiln bundle build`";
  if (start.empty()) return "it is empty: build it again with `kiln bundle build`";
  const std::string_view whole(reinterpret_cast<const char*>(magic), sizeof magic);
  if (start.size() < whole.size() && whole.starts_with(start)) return "it ends after a few bytes: copy it again";
  if (start.starts_with("\x89KLB") || start.starts_with("\x09KLB"))
    return "its line ends or high bits were changed on the way: copy it again, as a binary file";
  if (start.starts_with("version https://git-lfs"))
    return "it is the pointer to a file in Git LFS, not the file: run `git lfs pull`";
  if (start.starts_with("\x7f"
                        "ELF"))
    return fmt::format("it is an ELF file, not a bundle: {}", build);
  if (start.starts_with("KILNBIN\n")) return fmt::format("it is an entry of kiln's cache, not a bundle: {}", build);
  return fmt::format("it is not a kiln bundle, for it begins with the bytes {}: {}", bytes_as_hex(start.substr(0, 8)),
                     build);
}

}  // namespace bundle_format
}  // namespace kiln::runtime
