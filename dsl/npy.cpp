// dsl/npy.cpp -- loads and saves NumPy's .npy files; a save replaces the file in one step or leaves it as it was.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "dsl/array_memory.h"
#include "dsl/npy_header.h"
#include "dsl/out_of_memory.h"
#include "dsl/session.h"
#include "support/check.h"
#include "support/files.h"

namespace kiln::dsl {
namespace {

using files::error_text;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  /// 0 or errno; file systems may report a failed write only here.
  int close() {
    const int result = ::close(std::exchange(value_, -1));
    return result == 0 ? 0 : errno;
  }

 private:
  int value_;
};

/// A .npy file opened for reading, positioned behind its header.
struct Source {
  Source(const char* name, Where place_of_call)
      : path(name), where(place_of_call), file(::open(name, O_RDONLY | O_CLOEXEC)) {
    if (file.get() < 0) fail<IoError>("[load_npy] cannot open {}{}: {}", path, place(where), error_text(errno));
    struct stat status = {};
    if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) bytes_in_file = status.st_size;
  }

  /// Reads exactly `bytes`, or fewer where the file ends.
  std::size_t read(void* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          ::read(file.get(), static_cast<char*>(to) + done, std::min<std::size_t>(bytes - done, 1u << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail<IoError>("[load_npy] cannot read {}{}: {}", path, place(where), error_text(errno));
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    position += static_cast<std::int64_t>(done);
    return done;
  }

  void check_left(std::int64_t needed, const std::string& what) const {
    if (bytes_in_file >= 0 && bytes_in_file - position < needed) {
      fail<IoError>("[load_npy] {} is truncated{}: {} {} bytes, but only {} follow", path, place(where), what, needed,
                    bytes_in_file - position);
    }
  }

  NpyHeader header() {
    std::string text(npy_preamble, '\0');
    text.resize(read(text.data(), text.size()));
    const NpyExtent extent = npy_header_extent(text, path, where);
    const std::size_t have = std::min(text.size(), extent.end);
    check_left(static_cast<std::int64_t>(extent.end) - position, "the header still needs");
    text.resize(extent.end);
    const std::size_t got = read(text.data() + have, extent.end - have);
    if (have + got < extent.end) {
      fail<IoError>("[load_npy] {} is truncated{}: the header needs {} bytes, the file ends after {}", path,
                    place(where), extent.end, have + got);
    }
    return parse_npy_header(std::string_view(text).substr(extent.begin), path, where);
  }

  std::string path;
  Where where;
  Descriptor file;
  std::int64_t bytes_in_file = -1;  ///< -1: not a regular file
  std::int64_t position = 0;
};

/// The C++ type to write between angle brackets.
const char* cpp_name(DType type) {
  constexpr const char* names[dtype_count] = {
      "bool",         "std::int8_t",   "std::int16_t",  "std::int32_t",        "std::int64_t",
      "std::uint8_t", "std::uint16_t", "std::uint32_t", "std::uint64_t",       "kl::half",
      "kl::bfloat16", "float",         "double",        "std::complex<float>", "std::complex<double>"};
  return names[static_cast<int>(type)];
}

void check_type(const NpyHeader& header, DType type, const Source& source) {
  if (header.type == type) return;
  fail<TypeError>(
      "[load_npy] {} holds {} (descr '{}'), but {} was asked for{}; use kl::load_npy<{}>(...) and then astype<{}>(), "
      "or ask "
      "kl::npy_info first",
      source.path, name_of(header.type), header.descr, name_of(type), place(source.where), cpp_name(header.type),
      cpp_name(type));
}

template <class Word>
void swap_words(char* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    char* word = data + i * sizeof(Word);
    std::reverse(word, word + sizeof(Word));
  }
}

/// To native byte order; complex numbers part by part.
void swap_bytes(char* data, DType type, std::size_t elements) {
  const std::size_t parts = is_complex(type) ? 2 * elements : elements;
  switch (size_of(real_of(type))) {
    case 2:
      return swap_words<std::uint16_t>(data, parts);
    case 4:
      return swap_words<std::uint32_t>(data, parts);
    case 8:
      return swap_words<std::uint64_t>(data, parts);
    default:
      return;
  }
}

using HostBuffer = std::unique_ptr<char, decltype(&std::free)>;

HostBuffer host_buffer(std::size_t bytes, const char* operation, const std::string& path) {
  HostBuffer buffer(static_cast<char*>(std::malloc(std::max<std::size_t>(bytes, 1))), &std::free);
  if (!buffer) fail<OutOfMemory>("[{}] no memory for the {} bytes of {}", operation, bytes, path);
  return buffer;
}

/// The file's elements in native byte order, in the order of the file.
void read_elements(Source& source, const NpyHeader& header, char* to, std::size_t bytes) {
  const std::size_t got = source.read(to, bytes);
  if (got < bytes) {
    fail<IoError>("[load_npy] {} is truncated{}: shape {} of {} needs {} bytes, the file has {}", source.path,
                  place(source.where), to_text(header.shape), name_of(header.type), bytes, got);
  }
  if (header.byte_swapped) swap_bytes(to, header.type, bytes / size_of(header.type));
  if (header.type == DType::b1) std::transform(to, to + bytes, to, [](char c) { return static_cast<char>(c != 0); });
}

OwnedHandle load(const char* path, DType type, Where where) {
  Source source(path, where);
  const NpyHeader header = source.header();
  check_type(header, type, source);
  const std::int64_t count = element_count("load_npy", header.shape, where);
  element_range("load_npy", contiguous("load_npy", header.shape, where), static_cast<std::int64_t>(size_of(type)),
                where);
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  source.check_left(static_cast<std::int64_t>(bytes),
                    fmt::format("shape {} of {} needs", to_text(header.shape), name_of(type)));

  const runtime::DeviceId device = current_device();
  const bool on_cpu = device.kind == runtime::DeviceKind::cpu;
  OwnedHandle result = on_cpu ? allocate_on(device, type, header.shape, "load_npy", where) : OwnedHandle();
  const bool reorder = header.fortran_order && header.shape.rank > 1;
  if (on_cpu && !reorder) {
    read_elements(source, header, static_cast<char*>(result.get().data), bytes);
    return result;
  }
  HostBuffer raw = host_buffer(bytes, "load_npy", source.path);
  read_elements(source, header, raw.get(), bytes);
  if (reorder) {
    const Shape reversed = transpose(constant(header.shape), {}, where).shape;
    const Strided view = transpose(contiguous("load_npy", reversed, where), {}, where);
    HostBuffer ordered = on_cpu ? HostBuffer(nullptr, &std::free) : host_buffer(bytes, "load_npy", source.path);
    copy_strided(on_cpu ? result.get().data : ordered.get(), raw.get(), view, size_of(type));
    if (!on_cpu) raw = std::move(ordered);
  }
  if (on_cpu) return result;
  return OwnedHandle(detail::from_host(type, raw.get(), header.shape.extents.data(), header.shape.rank));
}

/// Writes everything or throws.
void write_all(int file, std::string_view bytes, const std::string& path, Where where) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), 1u << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail<IoError>("[save_npy] cannot write {}{}: {}", path, place(where), error_text(errno));
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void write_directly(const std::string& path, std::string_view header, std::string_view elements, Where where) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail<IoError>("[save_npy] cannot open {}{}: {}", path, place(where), error_text(errno));
  write_all(file.get(), header, path, where);
  write_all(file.get(), elements, path, where);
}

/// Through a temporary file beside the target, so that readers see the old file or the new one, never a part.
void write_atomically(const std::string& path, mode_t mode, std::string_view header, std::string_view elements,
                      Where where) {
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter++);
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0)
    fail<IoError>("[save_npy] cannot write {}{}: {}; its folder must exist and be writable", path, place(where),
                  error_text(errno));
  try {
    if (mode != 0 && ::fchmod(file.get(), mode) != 0) errno = 0;  // the mode of a replaced file is kept where possible
    write_all(file.get(), header, path, where);
    write_all(file.get(), elements, path, where);
    if (const int error = file.close())
      fail<IoError>("[save_npy] cannot write {}{}: {}", path, place(where), error_text(error));
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      fail<IoError>("[save_npy] cannot replace {}{}: {}", path, place(where), error_text(errno));
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_file(const char* name, std::string_view header, std::string_view elements, Where where) {
  std::string path = name;
  // A link stays a link: its target is replaced.
  if (const std::unique_ptr<char, decltype(&std::free)> real(::realpath(name, nullptr), &std::free); real)
    path = real.get();
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    fail<IoError>("[save_npy] {} is a directory{}; give a file name", path, place(where));
  if (exists && !S_ISREG(status.st_mode)) return write_directly(path, header, elements, where);
  write_atomically(path, exists ? status.st_mode & 07777 : 0, header, elements, where);
}

void save(const char* path, const detail::Handle& h, Where where) {
  if (!h.layout) {
    fail<ShapeError>("[save_npy] {}: the array was never given a shape{}; assign to it first", path, place(where));
  }
  const detail::Layout& layout = *h.layout;
  const Strided view = strided_of(layout);
  const Strided reversed = transpose(view, {}, where);
  // Elements that lie in Fortran order are written as they lie.
  const bool fortran = !layout.contiguous && is_contiguous(reversed);
  const detail::Handle stored =
      fortran ? detail::Handle{h.storage, h.data, intern(layout.dtype, device_of(layout), reversed)} : h;
  const std::string header = format_npy_header(layout.dtype, view.shape, fortran);
  const std::size_t bytes = static_cast<std::size_t>(layout.size) * size_of(layout.dtype);
  if (layout.device_kind == 0 && stored.layout->contiguous) {
    return write_file(path, header, {static_cast<const char*>(h.data), bytes}, where);
  }
  const HostBuffer elements = host_buffer(bytes, "save_npy", path);
  detail::to_host(stored, elements.get(), where);
  write_file(path, header, {elements.get(), bytes}, where);
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

Handle load_npy(const char* path, DType type, Where where) try {
  return dsl::load(path, type, where).take();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("load a file", where);
}

int npy_info(const char* path, DType& type, std::int64_t* shape, bool& fortran_order, Where where) try {
  const dsl::NpyHeader header = dsl::Source(path, where).header();
  type = header.type;
  fortran_order = header.fortran_order;
  std::copy_n(header.shape.extents.begin(), header.shape.rank, shape);
  return header.shape.rank;
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("read a file", where);
}

void save_npy(const char* path, const Handle& h, Where where) try {
  dsl::save(path, h, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("save a file", where);
}

}  // namespace kiln::detail
