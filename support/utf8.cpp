// support/utf8.cpp -- strict decoding of UTF-8.
#include "support/utf8.h"

#include <cstdint>
#include <cstring>

namespace kiln {

Utf8Character first_utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < least[bytes] || code > 0x10ffff || is_surrogate ? Utf8Character{} : Utf8Character{bytes, code};
}

std::size_t printable_ascii_bytes(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
  std::size_t at = 0;
  for (; text.size() - at >= sizeof ones; at += sizeof ones) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t without_deletes = word ^ (ones * 0x7f);
    // The classic tests for a byte below n and for a zero byte; a borrow can only add marks above a true one.
    const std::uint64_t controls = (word - ones * 0x20) & ~word, deletes = (without_deletes - ones) & ~without_deletes;
    if ((word | controls | deletes) & high) break;
  }
  return at;
}

bool is_control_character(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace kiln
