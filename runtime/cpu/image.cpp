// runtime/cpu/image.cpp -- copies an image into pages of its own and makes them executable.
#include "runtime/cpu/image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/cpu/jit/kiln_cpu.h"
#include "support/check.h"
#include "support/files.h"

namespace kiln::runtime {

CpuImage::CpuImage(std::span<const char> image) {
  kiln_cpu_image_header header = {};
  if (image.size() >= sizeof header) std::memcpy(&header, image.data(), sizeof header);
  if (header.magic != KILN_CPU_MAGIC || header.size != image.size() || header.entry < sizeof header ||
      header.entry >= image.size())
    fail<DeviceError>("{} bytes that are no CPU kernel image of this kiln were to be loaded", image.size());
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (image.size() + page - 1) / page * page;
  memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED)
    fail<OutOfMemory>("no memory for a CPU kernel of {} bytes: {}", bytes_, files::error_text(errno));
  std::memcpy(memory_, image.data(), image.size());
  if (mprotect(memory_, bytes_, PROT_READ | PROT_EXEC) != 0) {
    const int error = errno;
    munmap(memory_, bytes_);
    fail<DeviceError>("the system refuses executable memory, which CPU kernels need: {}", files::error_text(error));
  }
  char* start = static_cast<char*>(memory_);
  __builtin___clear_cache(start, start + bytes_);
  entry_ = reinterpret_cast<Entry>(start + header.entry);
}

CpuImage::~CpuImage() { munmap(memory_, bytes_); }

}  // namespace kiln::runtime
