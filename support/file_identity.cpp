// support/file_identity.cpp -- what a library file is, without reading all of it: its build id, else name, size and
// time.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include <fmt/format.h>

#include "support/files.h"

namespace kiln::files {
namespace {

constexpr std::size_t most_headers = 64;
constexpr std::size_t most_note_bytes = 65536;

bool read_at(int descriptor, void* to, std::size_t bytes, std::uint64_t offset) {
  return ::pread(descriptor, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

std::size_t padded(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

/// The build id among the notes of one PT_NOTE segment, as hexadecimal text; empty if there is none.
std::string build_id_in(const std::string& notes) {
  std::size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data() + at, sizeof header);
    const std::size_t name = at + sizeof header;
    if (header.n_namesz > notes.size() || header.n_descsz > notes.size()) return "";
    const std::size_t value = name + padded(header.n_namesz);
    if (value + header.n_descsz > notes.size()) return "";
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < header.n_descsz; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(notes[value + i]));
      return text;
    }
    at = value + padded(header.n_descsz);
  }
  return "";
}

std::string build_id(int descriptor) {
  Elf64_Ehdr header;
  if (!read_at(descriptor, &header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
    return "";
  for (std::size_t i = 0; i < header.e_phnum && i < most_headers; ++i) {
    Elf64_Phdr segment;
    if (!read_at(descriptor, &segment, sizeof segment, header.e_phoff + i * sizeof segment)) return "";
    if (segment.p_type != PT_NOTE || segment.p_filesz > most_note_bytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!read_at(descriptor, notes.data(), notes.size(), segment.p_offset)) return "";
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return "";
}

}  // namespace

std::string identity(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  struct stat status{};
  std::string text;
  if (const std::string id = build_id(descriptor); !id.empty()) {
    text = "build-id " + id;
  } else if (::fstat(descriptor, &status) == 0) {
    text = fmt::format("file {} size {} time {}.{:09}", path.substr(path.rfind('/') + 1), status.st_size,
                       status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  ::close(descriptor);
  return text;
}

}  // namespace kiln::files
