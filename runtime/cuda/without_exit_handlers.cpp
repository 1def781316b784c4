// runtime/cuda/without_exit_handlers.cpp -- rebinds __cxa_atexit of a library between its relocation and its
// constructors.
#include "runtime/cuda/without_exit_handlers.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

__asm__(R"assembly(
        .section .rodata.kiln_gate, "a", %progbits
        .balign 64
kiln_gate_begin:
        .incbin ")assembly" KILN_GATE_FILE R"assembly("
kiln_gate_end:
        .byte 0
        .previous
)assembly");

extern "C" __attribute__((visibility("hidden"))) const unsigned char kiln_gate_begin[];
extern "C" __attribute__((visibility("hidden"))) const unsigned char kiln_gate_end[];

namespace kiln::runtime::cuda {
namespace {

using Action = void (*)(const void*);

#if defined(__aarch64__)
constexpr std::uint64_t jump_slot = 1026, global_data = 1025;  // R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT
#else
constexpr std::uint64_t jump_slot = 7, global_data = 6;  // R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT
#endif

constinit std::atomic<pid_t> loading_thread{0};
constinit std::atomic<int> libraries_bound{0};

int register_nothing(void (*)(void*), void*, void*) { return 0; }

struct Module {
  std::uintptr_t address = 0;  ///< somewhere in it
  std::uintptr_t base = 0, read_only_begin = 0, read_only_end = 0;
  const ElfW(Dyn) * dynamic = nullptr;
};

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& module = *static_cast<Module*>(data);
  Module here{module.address, info->dlpi_addr};
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_LOAD && begin <= module.address && module.address < end) holds = true;
    if (part.p_type == PT_DYNAMIC) here.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (part.p_type == PT_GNU_RELRO) {
      here.read_only_begin = begin;
      here.read_only_end = end;
    }
  }
  if (holds) module = here;
  return holds ? 1 : 0;
}

/// What the dynamic section says of symbols and relocations.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * jumps = nullptr;
  const ElfW(Rela) * others = nullptr;
  std::size_t jump_count = 0, other_count = 0, relative_count = 0;  ///< the relative ones come first
};

Tables tables_of(const Module& module) {
  Tables tables;
  // The loader has turned offsets into addresses, except where it must not write.
  const auto address = [&](const ElfW(Dyn) & entry) {
    const std::uintptr_t value = entry.d_un.d_ptr;
    return value < module.base ? module.base + value : value;
  };
  for (const ElfW(Dyn)* entry = module.dynamic; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address(*entry));
        break;
      case DT_STRTAB:
        tables.names = reinterpret_cast<const char*>(address(*entry));
        break;
      case DT_JMPREL:
        tables.jumps = reinterpret_cast<const ElfW(Rela)*>(address(*entry));
        break;
      case DT_RELA:
        tables.others = reinterpret_cast<const ElfW(Rela)*>(address(*entry));
        break;
      case DT_PLTRELSZ:
        tables.jump_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELASZ:
        tables.other_count = entry->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        tables.relative_count = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

bool bind(const Module& module, const Tables& tables, const ElfW(Rela) & relocation) {
  const std::uint64_t type = ELF64_R_TYPE(relocation.r_info);
  if (type != jump_slot && type != global_data) return false;
  const char* const name = tables.names + tables.symbols[ELF64_R_SYM(relocation.r_info)].st_name;
  if (std::strcmp(name, "__cxa_atexit") != 0) return false;
  const std::uintptr_t slot = module.base + relocation.r_offset;
  if (module.read_only_begin <= slot && slot < module.read_only_end) return false;
  __atomic_store_n(reinterpret_cast<std::uintptr_t*>(slot), reinterpret_cast<std::uintptr_t>(&register_nothing),
                   __ATOMIC_RELEASE);
  return true;
}

/// Called by the start files of the library that holds `caller`.
void before_constructors(const void* caller) {
  if (loading_thread.load() != ::gettid()) return;
  Module module{reinterpret_cast<std::uintptr_t>(caller)};
  if (::dl_iterate_phdr(look_at, &module) == 0 || !module.dynamic) return;
  const Tables tables = tables_of(module);
  if (!tables.symbols || !tables.names) return;
  bool bound = false;
  for (std::size_t i = 0; tables.jumps && i < tables.jump_count; ++i) bound |= bind(module, tables, tables.jumps[i]);
  for (std::size_t i = tables.relative_count; tables.others && i < tables.other_count; ++i)
    bound |= bind(module, tables, tables.others[i]);
  if (bound) ++libraries_bound;
}

/// Where the gate keeps what it calls; null where it cannot be loaded. A second copy of kiln takes the first one's.
Action* open_gate() {
  if (void* const present = ::dlsym(RTLD_DEFAULT, "kiln_gate_action")) return static_cast<Action*>(present);
  const auto size = static_cast<std::size_t>(kiln_gate_end - kiln_gate_begin);
  constexpr unsigned executable = 0x10;  // MFD_EXEC, which kernels before 6.3 do not know
  int file = ::memfd_create("kiln_gate", MFD_CLOEXEC | executable);
  if (file < 0) file = ::memfd_create("kiln_gate", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  void* library = nullptr;
  if (::write(file, kiln_gate_begin, size) == static_cast<ssize_t>(size))
    library = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  ::close(file);
  return library ? static_cast<Action*>(::dlsym(library, "kiln_gate_action")) : nullptr;
}

Action* gate() {
  static Action* const opened = open_gate();
  return opened;
}

}  // namespace

WithoutExitHandlers::WithoutExitHandlers() {
  Action none = nullptr;
  if (!gate() ||
      !__atomic_compare_exchange_n(gate(), &none, &before_constructors, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return;  // another copy of kiln loads its compiler just now
  loading_thread.store(::gettid());
}

WithoutExitHandlers::~WithoutExitHandlers() {
  if (loading_thread.exchange(0) != 0) __atomic_store_n(gate(), nullptr, __ATOMIC_RELEASE);
}

int WithoutExitHandlers::bound() { return libraries_bound.load(); }

}  // namespace kiln::runtime::cuda
