// support/hash.cpp -- BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn 2020) of data in memory, four chunks at a time.
#include "support/hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace kiln {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t block_bytes = 64, chunk_bytes = 1024, parallel = 4;
using Word = std::uint32_t;
/// The same word of four chunks.
using Words [[gnu::vector_size(sizeof(Word) * parallel)]] = Word;

enum Flag : Word { chunk_start = 1, chunk_end = 2, parent = 4, root = 8 };
constexpr std::array<Word, 8> initial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
/// Message word that each of a round's places takes, for all seven rounds.
constexpr auto order = [] {
  constexpr std::size_t permutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  std::array<std::array<std::size_t, 16>, 7> rounds = {};
  for (std::size_t i = 0; i < 16; ++i) rounds[0][i] = i;
  for (std::size_t r = 1; r < 7; ++r)
    for (std::size_t i = 0; i < 16; ++i) rounds[r][i] = rounds[r - 1][permutation[i]];
  return rounds;
}();

template <class W>
using Chaining = std::array<W, 8>;  ///< W: Word, or Words for four at once
template <class W>
using Block = std::array<W, 16>;

template <int Bits, class W>
W rotated_right(W x) {
  return (x >> Bits) | (x << (32 - Bits));
}

template <class W>
void quarter(Block<W>& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, W x, W y) {
  v[a] += v[b] + x;
  v[d] = rotated_right<16>(v[d] ^ v[a]);
  v[c] += v[d];
  v[b] = rotated_right<12>(v[b] ^ v[c]);
  v[a] += v[b] + y;
  v[d] = rotated_right<8>(v[d] ^ v[a]);
  v[c] += v[d];
  v[b] = rotated_right<7>(v[b] ^ v[c]);
}

/// The compression function, without the half of its output that only longer digests need.
template <class W>
Chaining<W> compress(const Chaining<W>& in, const Block<W>& message, W counter, W counter_high, Word length,
                     Word flags) {
  const W zero = {};
  Block<W> v;
  for (std::size_t i = 0; i < 8; ++i) v[i] = in[i];
  for (std::size_t i = 0; i < 4; ++i) v[8 + i] = zero + initial[i];
  v[12] = counter;
  v[13] = counter_high;
  v[14] = zero + length;
  v[15] = zero + flags;
  for (const auto& at : order) {
    for (std::size_t i = 0; i < 4; ++i) quarter(v, i, 4 + i, 8 + i, 12 + i, message[at[2 * i]], message[at[2 * i + 1]]);
    for (std::size_t i = 0; i < 4; ++i)
      quarter(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, message[at[8 + 2 * i]],
              message[at[8 + 2 * i + 1]]);
  }
  Chaining<W> out;
  for (std::size_t i = 0; i < 8; ++i) out[i] = v[i] ^ v[8 + i];
  return out;
}

/// The last compression of a chunk or parent: it depends on whether this is the root.
struct Last {
  Chaining<Word> chaining;
  Block<Word> message;
  std::uint64_t counter = 0;
  Word length = block_bytes, flags = 0;

  Chaining<Word> run(Word extra = 0) const {
    return compress<Word>(chaining, message, static_cast<Word>(counter), static_cast<Word>(counter >> 32), length,
                          flags | extra);
  }
};

/// At most `chunk_bytes` bytes.
Last hash_chunk(std::string_view data, std::uint64_t counter) {
  Last last{.chaining = initial, .message = {}, .counter = counter, .flags = chunk_start};
  while (data.size() > block_bytes) {
    std::memcpy(last.message.data(), data.data(), block_bytes);
    last.chaining = last.run();
    last.flags = 0;
    data.remove_prefix(block_bytes);
  }
  last.message = {};
  if (!data.empty()) std::memcpy(last.message.data(), data.data(), data.size());
  last.length = static_cast<Word>(data.size());
  last.flags |= chunk_end;
  return last;
}

/// Four whole chunks, none of which is the root.
Chaining<Words> hash_chunks(const char* data, std::uint64_t counter) {
  Chaining<Words> chaining;
  for (std::size_t i = 0; i < 8; ++i) chaining[i] = Words{} + initial[i];
  Words low = {}, high = {};
  for (std::size_t lane = 0; lane < parallel; ++lane) {
    low[lane] = static_cast<Word>(counter + lane);
    high[lane] = static_cast<Word>((counter + lane) >> 32);
  }
  for (std::size_t at = 0; at < chunk_bytes; at += block_bytes) {
    Block<Words> message;
    for (std::size_t lane = 0; lane < parallel; ++lane) {
      Block<Word> words;
      std::memcpy(words.data(), data + lane * chunk_bytes + at, block_bytes);
      for (std::size_t i = 0; i < words.size(); ++i) message[i][lane] = words[i];
    }
    const Word flags = (at == 0 ? chunk_start : Word{0}) | (at + block_bytes == chunk_bytes ? chunk_end : Word{0});
    chaining = compress<Words>(chaining, message, low, high, block_bytes, flags);
  }
  return chaining;
}

Last joined(const Chaining<Word>& left, const Chaining<Word>& right) {
  Last last{.chaining = initial, .message = {}, .flags = parent};
  std::copy(left.begin(), left.end(), last.message.begin());
  std::copy(right.begin(), right.end(), last.message.begin() + 8);
  return last;
}

/// Complete subtrees from the left, the largest first.
class Tree {
 public:
  std::uint64_t chunks() const { return chunks_; }

  void add(Chaining<Word> chunk) {
    for (std::uint64_t rest = ++chunks_; (rest & 1) == 0; rest >>= 1) {
      chunk = joined(subtrees_.back(), chunk).run();
      subtrees_.pop_back();
    }
    subtrees_.push_back(chunk);
  }

  Chaining<Word> finish(Last last) {
    for (; !subtrees_.empty(); subtrees_.pop_back()) last = joined(subtrees_.back(), last.run());
    return last.run(root);
  }

 private:
  std::uint64_t chunks_ = 0;
  std::vector<Chaining<Word>> subtrees_;
};

}  // namespace

Digest blake3(std::string_view data) {
  Tree tree;
  for (; data.size() > parallel * chunk_bytes; data.remove_prefix(parallel * chunk_bytes)) {
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): as many bytes as the loop asked for
    const Chaining<Words> four = hash_chunks(data.data(), tree.chunks());
    for (std::size_t lane = 0; lane < parallel; ++lane) {
      Chaining<Word> chunk;
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] = four[i][lane];
      tree.add(chunk);
    }
  }
  for (; data.size() > chunk_bytes; data.remove_prefix(chunk_bytes))
    tree.add(hash_chunk(data.substr(0, chunk_bytes), tree.chunks()).run());
  return std::bit_cast<Digest>(tree.finish(hash_chunk(data, tree.chunks())));
}

std::string to_hex(const Digest& digest, std::size_t bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes && i < digest.size(); ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

}  // namespace kiln
