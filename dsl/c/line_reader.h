// dsl/c/line_reader.h -- one line of the text of a graph: words, numbers, values and lists.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "dsl/c/fault.h"

namespace kiln::dsl::c {

class LineReader {
 public:
  /// Spaces at the end and what follows a # do not count.
  LineReader(std::string_view text, std::size_t number) : rest_(text), number_(number) {
    bool quoted = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '"') quoted = !quoted;
      if (rest_[i] == '#' && !quoted) rest_ = rest_.substr(0, i);
    }
    while (!rest_.empty() && is_space(rest_.back())) rest_.remove_suffix(1);
    skip();
  }

  bool at_end() const { return rest_.empty(); }
  bool starts_with(char c) const { return !rest_.empty() && rest_[0] == c; }
  bool take(char c) {
    if (!starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip();
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("'{}' is expected{}", c, here());
  }
  void expect_end() const {
    if (!at_end()) fail("nothing more is expected{}", here());
  }

  /// Letters, digits and underscores; empty if there is none.
  std::string_view word() {
    std::size_t size = 0;
    while (size < rest_.size() && is_word(rest_[size])) ++size;
    const std::string_view result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    skip();
    return result;
  }
  template <class T>
  T integer(const char* what) {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) fail("{} is out of range{}", what, here());
    if (error != std::errc() || (end != rest_.data() + rest_.size() && is_word(*end)))
      fail("{} is expected{}", what, here());
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip();
    return value;
  }
  kiln_value value() {
    expect('%');
    return integer<kiln_value>("the number of a value");
  }
  std::string_view quoted() {
    const std::size_t end = rest_.find('"', 1);
    if (!starts_with('"') || end == rest_.npos) fail("a text in quotes is expected{}", here());
    const std::string_view result = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    skip();
    return result;
  }
  /// [a, b], each item read by `item()`.
  template <class Item>
  void list(Item item) {
    expect('[');
    if (take(']')) return;
    do item();
    while (take(','));
    expect(']');
  }

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Fault(KILN_ERROR_PARSE,
                fmt::format("line {}: {}", number_, fmt::format(format, static_cast<Args&&>(args)...)));
  }
  /// " before 'rest of the line'", printable and short.
  std::string here() const {
    if (at_end()) return " at the end of the line";
    std::string text;
    for (const char c : rest_.substr(0, 24)) text += c >= ' ' && c < 0x7f ? c : '?';
    return fmt::format(" before '{}{}'", text, rest_.size() > 24 ? "..." : "");
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void skip() {
    while (!rest_.empty() && is_space(rest_[0])) rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::size_t number_;
};

}  // namespace kiln::dsl::c
