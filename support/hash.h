// support/hash.h -- BLAKE3 for keys and checksums, and a fast hash for tables in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kiln {

using Digest = std::array<std::uint8_t, 32>;

/// BLAKE3 of `data`.
Digest blake3(std::string_view data);
/// Lower-case hexadecimal of the first `bytes` bytes.
std::string to_hex(const Digest& digest, std::size_t bytes = 32);

/// splitmix64 finaliser (Steele, Lea, Flood 2014): mixes one word into a running hash.
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  std::uint64_t z = (hash ^ word) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace kiln
