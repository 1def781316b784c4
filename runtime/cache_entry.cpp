// runtime/cache_entry.cpp -- writes and checks cache entries.
#include "runtime/cache_entry.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <ctime>

#include <fmt/format.h>

namespace kiln::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "cache entries are written in the machine's byte order");

constexpr char entry_magic[8] = {'K', 'I', 'L', 'N', 'B', 'I', 'N', '\n'};

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t compiler_bytes;
  std::uint64_t entry_bytes;
  std::uint64_t key_bytes;
  std::uint64_t image_bytes;
  std::uint32_t is_ptx;
  std::int32_t registers;
  std::int32_t spill_bytes;
  std::int32_t shared_bytes;
  std::int32_t local_bytes;
  std::uint32_t created_s;
  std::uint8_t checksum[32];  // of the file with these bytes zero
};
static_assert(sizeof(Header) == 104, "the header has no padding");

Digest checksum_of(std::string file) {
  std::memset(file.data() + offsetof(Header, checksum), 0, sizeof Header::checksum);
  return blake3(file);
}

/// The header of what may be the start of an entry, of any version; "" or why it is none.
std::string read_any_header(std::string_view start, Header& header) {
  if (start.size() < sizeof header) return fmt::format("{} bytes are less than a header", start.size());
  std::memcpy(&header, start.data(), sizeof header);
  if (std::memcmp(header.magic, entry_magic, sizeof entry_magic) != 0) return "it is not a kiln cache entry";
  return "";
}

/// The same, of this version.
std::string read_header(std::string_view start, Header& header) {
  if (std::string doubt = read_any_header(start, header); !doubt.empty()) return doubt;
  if (header.version == cache_format_version && header.header_bytes != sizeof header)
    return fmt::format("its header of {} bytes is none of version {}", header.header_bytes, header.version);
  if (header.version != cache_format_version)
    return fmt::format("its format is version {}, this kiln reads version {}", header.version, cache_format_version);
  return "";
}

/// Header and parts of a whole file; "" or why it is damaged.
struct Parts {
  Header header;
  std::string_view compiler, entry, key, image;
};
std::string read_parts(std::string_view file, Parts& parts) {
  Header& header = parts.header;
  if (std::string doubt = read_header(file, header); !doubt.empty()) return doubt;
  const std::uint64_t body = file.size() - sizeof header;
  // Each length is bounded first, so that their sum cannot wrap.
  const std::uint64_t lengths[] = {header.compiler_bytes, header.entry_bytes, header.key_bytes, header.image_bytes};
  std::uint64_t sum = 0;
  for (const std::uint64_t length : lengths) sum += std::min(length, body + 1);
  if (sum != body) return "its length is not what its header says";
  if (std::memcmp(checksum_of(std::string(file)).data(), header.checksum, sizeof header.checksum) != 0)
    return "its checksum is wrong";
  std::string_view rest = file.substr(sizeof header);
  std::string_view* const views[] = {&parts.compiler, &parts.entry, &parts.key, &parts.image};
  for (std::size_t i = 0; i < std::size(views); ++i) {
    *views[i] = rest.substr(0, lengths[i]);
    rest.remove_prefix(lengths[i]);
  }
  return "";
}

/// Value of a field of a key's text, of which the end may be missing: "\nlabel 5:value\n".
std::string_view field_of(std::string_view key, std::string_view label) {
  const std::size_t at = key.find(fmt::format("\n{} ", label));
  if (at == std::string_view::npos) return "";
  key.remove_prefix(at + label.size() + 2);
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), bytes);
  if (error != std::errc() || end == key.data() + key.size() || *end != ':') return "";
  return key.substr(static_cast<std::size_t>(end - key.data()) + 1).substr(0, bytes);
}

}  // namespace

std::string write_entry(const CacheKey& key, const Binary& binary) {
  Header header{};
  std::memcpy(header.magic, entry_magic, sizeof entry_magic);
  header.version = cache_format_version;
  header.header_bytes = sizeof header;
  header.compiler_bytes = binary.compiler.size();
  header.entry_bytes = binary.entry.size();
  header.key_bytes = key.text.size();
  header.image_bytes = binary.image.size();
  header.is_ptx = binary.is_ptx ? 1 : 0;
  header.registers = binary.registers;
  header.spill_bytes = binary.spill_bytes;
  header.shared_bytes = binary.shared_bytes;
  header.local_bytes = binary.local_bytes;
  header.created_s = static_cast<std::uint32_t>(std::time(nullptr));
  std::string file(reinterpret_cast<const char*>(&header), sizeof header);
  file.reserve(sizeof header + binary.compiler.size() + binary.entry.size() + key.text.size() + binary.image.size());
  file += binary.compiler;
  file += binary.entry;
  file += key.text;
  file.append(binary.image.data(), binary.image.size());
  const Digest checksum = blake3(file);
  std::memcpy(file.data() + offsetof(Header, checksum), checksum.data(), checksum.size());
  return file;
}

std::string read_entry(std::string_view file, const CacheKey& key, Binary& binary) {
  Parts parts;
  if (std::string doubt = read_parts(file, parts); !doubt.empty()) return doubt;
  if (parts.key != key.text) return "it belongs to another kernel";
  binary.compiler = parts.compiler;
  binary.entry = parts.entry;
  binary.image.assign(parts.image.begin(), parts.image.end());
  binary.is_ptx = parts.header.is_ptx != 0;
  binary.registers = parts.header.registers;
  binary.spill_bytes = parts.header.spill_bytes;
  binary.shared_bytes = parts.header.shared_bytes;
  binary.local_bytes = parts.header.local_bytes;
  return "";
}

std::string describe_entry(std::string_view start, EntrySummary& summary) {
  Header header;
  if (std::string doubt = read_any_header(start, header); !doubt.empty()) return doubt;
  summary.version = header.version;
  if (header.version != cache_format_version) return "";
  if (std::string doubt = read_header(start, header); !doubt.empty()) return doubt;
  std::string_view rest = start.substr(sizeof header);
  if (header.compiler_bytes > rest.size() || header.entry_bytes > rest.size() - header.compiler_bytes)
    return "its length is not what its header says";
  summary.compiler = rest.substr(0, header.compiler_bytes);
  rest.remove_prefix(header.compiler_bytes);
  summary.kernel = rest.substr(0, header.entry_bytes);
  rest.remove_prefix(header.entry_bytes);
  summary.language = field_of(rest, "language");
  summary.arch = field_of(rest, "arch");
  summary.created_s = header.created_s;
  return "";
}

std::string verify_entry(std::string_view file, std::string_view digest) {
  Parts parts;
  if (std::string doubt = read_parts(file, parts); !doubt.empty()) return doubt;
  return to_hex(blake3(parts.key)) == digest ? "" : "it lies where another kernel belongs";
}

}  // namespace kiln::runtime
