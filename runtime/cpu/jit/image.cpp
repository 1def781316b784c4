// runtime/cpu/jit/image.cpp -- section layout and PC-relative relocations for x86-64 and AArch64 objects.
#include "runtime/cpu/jit/image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtime/cpu/jit/kiln_cpu.h"

namespace kiln::cpu_jit {
namespace {

class Linker {
 public:
  Linker(std::string_view object, std::vector<char>& image) : object_(object), image_(image) {}

  std::string link(std::string_view entry) {
    if (!read_headers()) return "the compiler's object is not a 64-bit ELF file";
    lay_out();
    std::string error = relocate();
    if (!error.empty()) return error;
    return finish(entry);
  }

 private:
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > object_.size() || count > (object_.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(object_.data() + offset);
  }

  bool read_headers() {
    header_ = at<Elf64_Ehdr>(0);
    if (!header_ || std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 || header_->e_ident[EI_CLASS] != ELFCLASS64)
      return false;
    sections_ = at<Elf64_Shdr>(header_->e_shoff, header_->e_shnum);
    if (!sections_) return false;
    for (int k = 0; k < header_->e_shnum; ++k) {
      if (sections_[k].sh_type != SHT_SYMTAB) continue;
      symbol_count_ = sections_[k].sh_size / sizeof(Elf64_Sym);
      symbols_ = at<Elf64_Sym>(sections_[k].sh_offset, symbol_count_);
      names_ = object_.data() + sections_[sections_[k].sh_link].sh_offset;
    }
    return symbols_ != nullptr;
  }

  /// Code first, then everything else that is allocated, each at its own alignment.
  void lay_out() {
    image_.assign(sizeof(kiln_cpu_image_header), 0);
    offsets_.assign(header_->e_shnum, 0);
    for (const bool code : {true, false}) {
      for (int k = 0; k < header_->e_shnum; ++k) {
        const Elf64_Shdr& section = sections_[k];
        if (!(section.sh_flags & SHF_ALLOC) || ((section.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
        const std::uint64_t alignment = std::max<std::uint64_t>(section.sh_addralign, 1);
        image_.resize((image_.size() + alignment - 1) / alignment * alignment);
        offsets_[static_cast<std::size_t>(k)] = image_.size();
        const char* bytes = section.sh_type == SHT_NOBITS ? nullptr : object_.data() + section.sh_offset;
        image_.resize(image_.size() + section.sh_size);
        if (bytes) std::memcpy(image_.data() + offsets_[static_cast<std::size_t>(k)], bytes, section.sh_size);
      }
    }
  }

  std::string relocate() {
    for (int k = 0; k < header_->e_shnum; ++k) {
      const Elf64_Shdr& table = sections_[k];
      if (table.sh_type != SHT_RELA || !(sections_[table.sh_info].sh_flags & SHF_ALLOC)) continue;
      const std::uint64_t count = table.sh_size / sizeof(Elf64_Rela);
      const Elf64_Rela* entries = at<Elf64_Rela>(table.sh_offset, count);
      for (std::uint64_t r = 0; entries && r < count; ++r) {
        std::string error = apply(entries[r], offsets_[table.sh_info]);
        if (!error.empty()) return error;
      }
    }
    return {};
  }

  std::string apply(const Elf64_Rela& entry, std::uint64_t section) {
    const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(entry.r_info)];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header_->e_shnum)
      return std::string("the kernel refers to the undefined symbol '") + (names_ + symbol.st_name) + "'";
    const std::uint64_t place = section + entry.r_offset;
    const std::int64_t target = static_cast<std::int64_t>(offsets_[symbol.st_shndx] + symbol.st_value) + entry.r_addend;
    const auto type = static_cast<unsigned>(ELF64_R_TYPE(entry.r_info));
    const bool known =
        header_->e_machine == EM_X86_64 ? apply_x86(type, place, target) : apply_arm(type, place, target);
    return known ? std::string() : "relocation type " + std::to_string(type) + " is not position-independent";
  }

  bool apply_x86(unsigned type, std::uint64_t place, std::int64_t target) {
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32) return false;
    store(place, static_cast<std::int32_t>(target - static_cast<std::int64_t>(place)));
    return true;
  }

  /// Images start on a page boundary, so page numbers within the image are page numbers in memory.
  bool apply_arm(unsigned type, std::uint64_t place, std::int64_t target) {
    const std::int64_t distance = target - static_cast<std::int64_t>(place);
    const auto low = static_cast<std::uint32_t>(target & 0xfff);
    switch (type) {
      case R_AARCH64_PREL32:
        store(place, static_cast<std::int32_t>(distance));
        return true;
      case R_AARCH64_CALL26:
      case R_AARCH64_JUMP26:
        patch(place, 0x03ffffff, static_cast<std::uint32_t>(distance >> 2));
        return true;
      case R_AARCH64_ADR_PREL_PG_HI21: {
        const auto pages = static_cast<std::uint32_t>((target >> 12) - static_cast<std::int64_t>(place >> 12));
        patch(place, 0x60ffffe0, (pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5);
        return true;
      }
      case R_AARCH64_ADD_ABS_LO12_NC:
      case R_AARCH64_LDST8_ABS_LO12_NC:
        patch(place, 0xfff << 10, low << 10);
        return true;
      case R_AARCH64_LDST16_ABS_LO12_NC:
        patch(place, 0xfff << 10, low >> 1 << 10);
        return true;
      case R_AARCH64_LDST32_ABS_LO12_NC:
        patch(place, 0xfff << 10, low >> 2 << 10);
        return true;
      case R_AARCH64_LDST64_ABS_LO12_NC:
        patch(place, 0xfff << 10, low >> 3 << 10);
        return true;
      case R_AARCH64_LDST128_ABS_LO12_NC:
        patch(place, 0xfff << 10, low >> 4 << 10);
        return true;
      default:
        return false;
    }
  }

  void store(std::uint64_t place, std::int32_t value) { std::memcpy(image_.data() + place, &value, sizeof value); }
  void patch(std::uint64_t place, std::uint32_t mask, std::uint32_t value) {
    std::uint32_t word;
    std::memcpy(&word, image_.data() + place, sizeof word);
    word = (word & ~mask) | (value & mask);
    std::memcpy(image_.data() + place, &word, sizeof word);
  }

  std::string finish(std::string_view entry) {
    for (std::uint64_t s = 0; s < symbol_count_; ++s) {
      const Elf64_Sym& symbol = symbols_[s];
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header_->e_shnum || entry != names_ + symbol.st_name)
        continue;
      kiln_cpu_image_header header = {};
      header.magic = KILN_CPU_MAGIC;
      header.size = image_.size();
      header.entry = offsets_[symbol.st_shndx] + symbol.st_value;
      std::memcpy(image_.data(), &header, sizeof header);
      return {};
    }
    return "the kernel's text does not define '" + std::string(entry) + "'";
  }

  std::string_view object_;
  std::vector<char>& image_;
  const Elf64_Ehdr* header_ = nullptr;
  const Elf64_Shdr* sections_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  std::uint64_t symbol_count_ = 0;
  const char* names_ = nullptr;
  std::vector<std::uint64_t> offsets_;
};

}  // namespace

std::string link_image(std::string_view object, std::string_view entry, std::vector<char>& image) {
  return Linker(object, image).link(entry);
}

}  // namespace kiln::cpu_jit
