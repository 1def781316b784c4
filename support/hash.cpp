// support/hash.cpp -- BLAKE3 through LLVM Support.
#include "support/hash.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/BLAKE3.h>

namespace kiln {

Digest blake3(std::string_view data) {
  const llvm::BLAKE3Result<32> result =
      llvm::BLAKE3::hash(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(data.data()), data.size()));
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = result[i];
  return digest;
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
