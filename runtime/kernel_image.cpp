// runtime/kernel_image.cpp -- reads the attributes of a kernel from a cubin's ELF sections, or its head in PTX.
#include "runtime/kernel_image.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace kiln::runtime {
namespace {

// Attributes of .nv.info.<kernel>: a format, a number and a value, or its length and then the value.
constexpr std::uint8_t format_sized = 4;
constexpr std::uint8_t attribute_max_threads = 0x05;
constexpr std::uint8_t attribute_parameter = 0x17;
constexpr std::size_t largest_block = 32764;  ///< bytes of parameters that CUDA allows

template <class T>
bool read(std::string_view bytes, std::uint64_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

std::string_view slice(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at > bytes.size() || bytes.size() - at < size ? std::string_view() : bytes.substr(at, size);
}

/// The section of this name; empty where there is none.
std::string_view find_section(std::string_view image, std::string_view wanted) {
  Elf64_Ehdr header;
  if (!read(image, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto section = [&](unsigned number, Elf64_Shdr& entry) {
    return number < header.e_shnum && header.e_shoff <= image.size() &&
           read(image, header.e_shoff + std::uint64_t{number} * sizeof entry, entry);
  };
  Elf64_Shdr names, entry;
  if (!section(header.e_shstrndx, names)) return {};
  const std::string_view text = slice(image, names.sh_offset, names.sh_size);
  for (unsigned number = 0; section(number, entry); ++number) {
    if (entry.sh_name >= text.size()) continue;
    const std::string_view name = text.substr(entry.sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return slice(image, entry.sh_offset, entry.sh_size);
  }
  return {};
}

struct NumberedParameter {
  std::uint16_t ordinal = 0;
  KernelParameter parameter;
};

/// Index, ordinal and offset, then flags whose highest 14 bits are the size.
bool read_parameter(std::string_view value, std::vector<NumberedParameter>& parameters) {
  std::uint16_t ordinal = 0, offset = 0;
  std::uint32_t flags = 0;
  if (!read(value, 4, ordinal) || !read(value, 6, offset) || !read(value, 8, flags)) return false;
  parameters.push_back({ordinal, {offset, flags >> 18}});
  return true;
}

std::optional<KernelImage> read_attributes(std::string_view section) {
  KernelImage image;
  std::vector<NumberedParameter> parameters;
  while (!section.empty()) {
    std::uint16_t size = 0;
    if (!read(section, 2, size)) return std::nullopt;
    const auto format = static_cast<std::uint8_t>(section[0]), attribute = static_cast<std::uint8_t>(section[1]);
    section.remove_prefix(4);
    if (format != format_sized) continue;  // the value was in place of the length
    const std::string_view value = section.substr(0, size);
    if (value.size() != size) return std::nullopt;
    if (attribute == attribute_parameter && !read_parameter(value, parameters)) return std::nullopt;
    std::uint32_t threads[3] = {};
    if (attribute == attribute_max_threads && read(value, 0, threads))
      image.max_threads = static_cast<int>(std::uint64_t{threads[0]} * threads[1] * threads[2] & 0x7fffffff);
    section.remove_prefix(size);
  }
  std::sort(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].ordinal != i) return std::nullopt;
    image.parameters.push_back(parameters[i].parameter);
  }
  return image;
}

// ------------------------------------------------------------------ PTX
std::uint32_t number_after(std::string_view text, std::string_view word, std::uint32_t otherwise) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return otherwise;
  std::string_view rest = text.substr(at + word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  std::uint32_t value = otherwise;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

/// Bytes of `.param .u64 name`, `.param .align 8 .b8 name[24]`; 0 for anything else.
std::uint32_t declared_size(std::string_view declaration) {
  const std::size_t bracket = declaration.find('[');
  if (bracket != std::string_view::npos) return number_after(declaration, "[", 0);
  for (const std::string_view kind : {".u", ".s", ".f", ".b"}) {
    for (const std::uint32_t bits : {8u, 16u, 32u, 64u}) {
      const std::string type = std::string(kind) + std::to_string(bits) + " ";
      if (declaration.find(type) != std::string_view::npos) return bits / 8;
    }
  }
  return 0;
}

/// The head of `.entry NAME( ... )` with what follows up to the body.
std::string_view entry_head(std::string_view ptx, const std::string& name) {
  for (std::size_t at = ptx.find(".entry"); at != std::string_view::npos; at = ptx.find(".entry", at + 1)) {
    const std::string_view head = ptx.substr(at + 6, std::min(ptx.find('{', at), ptx.size()) - at - 6);
    const std::size_t start = head.find_first_not_of(" \t\n");
    if (start == std::string_view::npos || head.substr(start, name.size()) != name) continue;
    const std::string_view rest = head.substr(start + name.size());
    if (!rest.empty() && (rest[0] == '(' || rest[0] == '\n' || rest[0] == ' ')) return rest;
  }
  return {};
}

std::optional<KernelImage> read_ptx(std::string_view ptx, const std::string& name) {
  const std::string_view head = entry_head(ptx, name);
  if (head.data() == nullptr) return std::nullopt;
  KernelImage image;
  std::uint32_t end = 0;
  for (std::size_t at = head.find(".param"); at != std::string_view::npos; at = head.find(".param", at + 1)) {
    const std::string_view declaration = head.substr(at, head.find_first_of(",\n)", at) - at);
    const std::uint32_t size = declared_size(std::string(declaration) + " ");
    const bool is_bytes = declaration.find('[') != std::string_view::npos;
    const std::uint32_t alignment = is_bytes ? number_after(declaration, ".align", 1) : size;
    if (size == 0 || size > largest_block || alignment == 0 || alignment > 256) return std::nullopt;
    const std::uint32_t offset = (end + alignment - 1) / alignment * alignment;
    image.parameters.push_back({offset, size});
    end = offset + size;
  }
  if (const std::size_t at = head.find(".maxntid"); at != std::string_view::npos) {
    std::uint64_t threads = 1;
    std::string_view list = head.substr(at + 8, head.find('\n', at) - at - 8);
    for (std::size_t comma = 0; comma != std::string_view::npos && threads < 0x7fff; comma = list.find(',')) {
      list.remove_prefix(comma == 0 ? 0 : comma + 1);
      threads *= number_after(list, "", 1);
    }
    image.max_threads = static_cast<int>(threads);
  }
  return image;
}

}  // namespace

std::optional<KernelImage> read_kernel_image(const Binary& binary) {
  const std::string_view image(binary.image.data(), binary.image.size());
  if (binary.is_ptx) return read_ptx(image.substr(0, image.find('\0')), binary.entry);
  const std::string_view section = find_section(image, ".nv.info." + binary.entry);
  if (section.empty()) return std::nullopt;
  return read_attributes(section);
}

}  // namespace kiln::runtime
