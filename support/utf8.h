// support/utf8.h -- reading UTF-8 strictly, one character after the other.
#pragma once

#include <cstddef>
#include <string_view>

namespace kiln {

struct Utf8Character {
  std::size_t bytes = 0;  ///< 0: the text does not begin with a character
  char32_t code = 0;
};

/// The first character of a text that is not empty: shortest form, no surrogates, at most U+10FFFF.
Utf8Character first_utf8_character(std::string_view text);

/// How many bytes at the start are certainly printable ASCII, found eight at a time: a multiple of 8, maybe less than
/// there are.
std::size_t printable_ascii_bytes(std::string_view text);

/// Would change how a terminal shows the rest of the line: C0, DEL, C1, line and paragraph separators, bidirectional
/// controls.
bool is_control_character(char32_t code);

}  // namespace kiln
