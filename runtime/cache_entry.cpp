// runtime/cache_entry.cpp -- writes and checks cache entries.
#include "runtime/cache_entry.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace kiln::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "cache entries are written in the machine's byte order");

constexpr char entry_magic[8] = {'K', 'I', 'L', 'N', 'B', 'I', 'N', '\n'};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t key_bytes;
  std::uint64_t entry_bytes;
  std::uint64_t image_bytes;
  std::uint32_t is_ptx;
  std::int32_t registers;
  std::int32_t spill_bytes;
  std::int32_t shared_bytes;
  std::int32_t local_bytes;
  std::uint32_t reserved;
  std::uint8_t checksum[32];  // of the file with these bytes zero
};
static_assert(sizeof(Header) == 96, "the header has no padding");

Digest checksum_of(std::string file) {
  std::memset(file.data() + offsetof(Header, checksum), 0, sizeof Header::checksum);
  return blake3(file);
}

}  // namespace

std::string write_entry(const CacheKey& key, const Binary& binary) {
  Header header{};
  std::memcpy(header.magic, entry_magic, sizeof entry_magic);
  header.version = cache_format_version;
  header.header_bytes = sizeof header;
  header.key_bytes = key.text.size();
  header.entry_bytes = binary.entry.size();
  header.image_bytes = binary.image.size();
  header.is_ptx = binary.is_ptx ? 1 : 0;
  header.registers = binary.registers;
  header.spill_bytes = binary.spill_bytes;
  header.shared_bytes = binary.shared_bytes;
  header.local_bytes = binary.local_bytes;
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.reserve(sizeof header + key.text.size() + binary.entry.size() + binary.image.size());
  file += key.text;
  file += binary.entry;
  file.append(binary.image.data(), binary.image.size());
  const Digest checksum = blake3(file);
  std::memcpy(file.data() + offsetof(Header, checksum), checksum.data(), checksum.size());
  return file;
}

std::string read_entry(std::string_view file, const CacheKey& key, Binary& binary) {
  Header header;
  if (file.size() < sizeof header) return fmt::format("{} bytes are less than a header", file.size());
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, entry_magic, sizeof entry_magic) != 0) return "it is not a kiln cache entry";
  if (header.version != cache_format_version || header.header_bytes != sizeof header)
    return fmt::format("its format is version {}, this kiln reads version {}", header.version, cache_format_version);
  const std::uint64_t body = file.size() - sizeof header;
  // Each length is bounded first, so that their sum cannot wrap.
  if (header.key_bytes > body || header.entry_bytes > body || header.image_bytes > body ||
      header.key_bytes + header.entry_bytes + header.image_bytes != body)
    return "its length is not what its header says";
  if (std::memcmp(checksum_of(std::string(file)).data(), header.checksum, sizeof header.checksum) != 0)
    return "its checksum is wrong";
  const char* const key_text = file.data() + sizeof header;
  if (std::string_view(key_text, header.key_bytes) != key.text) return "it belongs to another kernel";
  const char* const entry = key_text + header.key_bytes;
  const char* const image = entry + header.entry_bytes;
  binary.entry.assign(entry, header.entry_bytes);
  binary.image.assign(image, image + header.image_bytes);
  binary.is_ptx = header.is_ptx != 0;
  binary.registers = header.registers;
  binary.spill_bytes = header.spill_bytes;
  binary.shared_bytes = header.shared_bytes;
  binary.local_bytes = header.local_bytes;
  return "";
}

}  // namespace kiln::runtime
