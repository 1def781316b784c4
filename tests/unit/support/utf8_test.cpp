// tests/unit/support/utf8_test.cpp -- strict UTF-8, by the table of well-formed sequences of the Unicode Standard
// (3-7).
#include "support/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln {
namespace {

/// Encodes by the definition; the reference for decoding.
std::string encode(char32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  std::string text;
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(lead[more] | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> 6 * i & 0x3f));
  return text;
}

TEST(Utf8Test, EveryCharacterIsReadAndNoSurrogate) {
  for (char32_t code = 0; code <= 0x110000; ++code) {
    const std::string text = encode(code);
    const Utf8Character character = first_utf8_character(text + "x");
    const bool is_valid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    ASSERT_EQ(character.bytes, is_valid ? text.size() : 0) << std::hex << static_cast<unsigned>(code);
    ASSERT_TRUE(!is_valid || character.code == code);
    ASSERT_TRUE(text.size() == 1 || first_utf8_character(text.substr(0, text.size() - 1)).bytes == 0u);
  }
}

// All pairs of bytes, by table 3-7: a pair is a character only if the first is ASCII, or C2..DF with 80..BF behind it.
TEST(Utf8Test, PairsOfBytesFollowTheTable) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      const bool is_pair = first >= 0xc2 && first <= 0xdf && second >= 0x80 && second <= 0xbf;
      ASSERT_EQ(first_utf8_character(text).bytes, first < 0x80 ? 1u : is_pair ? 2u : 0u) << first << ' ' << second;
    }
  }
  for (const char* const overlong : {"\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf"})
    EXPECT_EQ(first_utf8_character(overlong).bytes, 0u);
}

TEST(Utf8Test, PrintableAsciiIsFoundWhereverItEnds) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t at = 0; at < 24; ++at) {
      std::string text(24, 'x');
      text[at] = static_cast<char>(byte);
      const bool is_printable = byte >= 0x20 && byte < 0x7f;
      ASSERT_EQ(printable_ascii_bytes(text), is_printable ? 24u : at / 8 * 8) << byte << " at " << at;
    }
  }
  EXPECT_EQ(printable_ascii_bytes(""), 0u);
  EXPECT_EQ(printable_ascii_bytes("1234567"), 0u);
}

TEST(Utf8Test, ControlsAreThoseThatMoveTheCursor) {
  for (const char32_t code : {0x00, 0x0a, 0x1b, 0x7f, 0x85, 0x9b, 0x2028, 0x202e, 0x2066, 0x2069})
    EXPECT_TRUE(is_control_character(code)) << std::hex << static_cast<unsigned>(code);
  for (const char32_t code : {0x20, 0x7e, 0xa0, 0xe9, 0x2027, 0x202f, 0x2065, 0x206a, 0x1d465})
    EXPECT_FALSE(is_control_character(code)) << std::hex << static_cast<unsigned>(code);
}

}  // namespace
}  // namespace kiln
