// kiln/inspect.h -- what inspect() tells about a compiled expression: graph, kernels, source, registers, bytes moved.
#pragma once

#include <utility>

#include <kiln/detail/bridge.h>

namespace kiln {

/// A piece of a Text, valid as long as that is. Converts to std::string and std::string_view, prints to streams.
class TextPart {
 public:
  TextPart(const char* first, std::size_t size) : first_(first), size_(size) {}
  const char* data() const { return first_; }
  std::size_t size() const { return size_; }
  template <class S>
    requires(std::is_class_v<S> && requires(const char* c, std::size_t n) { S(c, n); })
  operator S() const {
    return S(first_, size_);
  }
  friend bool operator==(const TextPart& a, const char* b) {
    return __builtin_strlen(b) == a.size_ && __builtin_memcmp(a.first_, b, a.size_) == 0;
  }
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const TextPart& part) {
    stream.write(part.first_, static_cast<long>(part.size_));
    return stream;
  }

 private:
  const char* first_;
  std::size_t size_;
};

/// Text owned by an Inspection, a Profile or their like, and valid as long as that is. Converts to std::string and
/// std::string_view, prints to streams.
class Text {
 public:
  /// Makes the text, null-terminated, when it is first asked for.
  using Maker = const char* (*)(const void* context);

  Text() = default;
  /// `text` is null-terminated; null is the empty text.
  Text(const char* text) : source_(text ? text : "") {}
  Text(Maker maker, const void* context) : maker_(maker), source_(context) {}
  const char* c_str() const { return maker_ ? maker_(source_) : static_cast<const char*>(source_); }
  std::size_t size() const { return __builtin_strlen(c_str()); }
  bool empty() const { return *c_str() == 0; }
  bool contains(const char* part) const { return find(part) != npos; }
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);  ///< what find says of a part that is not there
  /// Where `part` begins first, at `from` or later.
  std::size_t find(const char* part, std::size_t from = 0) const {
    const char* const text = c_str();
    const char* const found = from > __builtin_strlen(text) ? nullptr : __builtin_strstr(text + from, part);
    return found ? static_cast<std::size_t>(found - text) : npos;
  }
  /// Up to `count` characters from `from` on, which are none where the text has ended.
  TextPart substr(std::size_t from, std::size_t count = npos) const {
    const char* const text = c_str();
    const std::size_t length = __builtin_strlen(text), first = from < length ? from : length;
    return {text + first, count < length - first ? count : length - first};
  }

  template <class S>
    requires(std::is_class_v<S> && requires(const char* c, std::size_t n) { S(c, n); })
  operator S() const {
    return S(c_str(), size());
  }
  friend bool operator==(const Text& a, const Text& b) { return __builtin_strcmp(a.c_str(), b.c_str()) == 0; }
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Text& text) {
    stream.write(text.c_str(), static_cast<long>(text.size()));
    return stream;
  }

 private:
  Maker maker_ = nullptr;
  const void* source_ = "";  ///< the text, or what makes it
};

/// The launch that was chosen.
struct LaunchInfo {
  unsigned grid[3] = {0, 0, 0};
  unsigned block[3] = {0, 0, 0};
  unsigned shared_bytes = 0;  ///< dynamic
  unsigned items = 0;         ///< elements per thread
  unsigned cluster = 1;       ///< blocks per cluster
};

/// One kernel of a plan. Numbers that the compiler does not tell are -1.
struct KernelInfo {
  Text name;    ///< entry point in the image
  Text source;  ///< CUDA C++, or LLVM IR for the CPU
  Text ptx;     ///< empty for the CPU
  /// Machine code as text, made when first read: by nvdisasm or cuobjdump, empty where neither is installed (explain()
  /// says so). CPU: assembly.
  Text sass;
  Text schedule;  ///< the schedule in a line
  Text arch;      ///< what it was compiled for, e.g. "sm_90"
  Text log;       ///< the compiler's log
  int registers = -1;
  int spills = -1;  ///< bytes
  int shared_bytes = -1;
  double occupancy = -1;  ///< resident threads / maximum
  LaunchInfo launch;
  std::int64_t bytes_moved = 0;  ///< bytes of operands read and written once
  std::int64_t operations = 0;   ///< arithmetic operations; functions and joins count one each, an FMA two
};

/// Where a timed run stands against what the device's memory can do.
struct Roofline {
  double gigabytes_per_second = 0;  ///< bytes_moved of all kernels by the time
  /// Of the device's peak memory bandwidth (clock times bus width); -1 where that is unknown: on the CPU, and in
  /// inspections for a named architecture.
  double of_peak = -1;
  double operations_per_byte = 0;
  double gigaoperations_per_second = 0;
  /// The same in a line; prints to streams, too.
  Text text() const { return line; }
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Roofline& roofline) {
    return stream << roofline.text();
  }

  // For the library.
  char line[256] = "";
};

namespace detail {

/// Filled and owned by the library (derive from it to own the texts); freed by destroy().
struct Inspection {
  Text explain, graph, dot;
  const KernelInfo* kernels = nullptr;
  unsigned kernel_count = 0;
};

KILN_API Roofline roofline(const Inspection&, double milliseconds);

}  // namespace detail

/// The kernels of an Inspection, valid as long as it is.
class KernelList {
 public:
  KernelList(const KernelInfo* first, unsigned count) : first_(first), count_(count) {}
  std::size_t size() const { return count_; }
  const KernelInfo* begin() const { return first_; }
  const KernelInfo* end() const { return first_ + count_; }
  const KernelInfo& operator[](std::size_t i) const { return first_[i]; }

 private:
  const KernelInfo* first_;
  unsigned count_;
};

/// Result of f.inspect(...) and kl::inspect(expression).
class Inspection {
 public:
  explicit Inspection(detail::Inspection* p)
      : kernels(p->kernels, p->kernel_count), graph(p->graph), dot(p->dot), data_(p) {}
  Inspection(Inspection&& other) noexcept
      : kernels(other.kernels), graph(other.graph), dot(other.dot), data_(other.data_) {
    other.data_ = nullptr;
  }
  Inspection& operator=(Inspection&& other) noexcept {
    std::swap(kernels, other.kernels);
    std::swap(graph, other.graph);
    std::swap(dot, other.dot);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Inspection() {
    if (data_) detail::destroy(data_);
  }
  /// What was fused, what was split and why, with the bytes moved by each kernel.
  Text explain() const { return data_->explain; }

  /// The position of a run of all kernels that took so long. TypeError unless the time is positive, and for raw
  /// kernels.
  Roofline roofline(double milliseconds) const { return detail::roofline(*data_, milliseconds); }

  /// Prints explain().
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Inspection& inspection) {
    return stream << inspection.explain();
  }

  KernelList kernels;
  Text graph;  ///< one line per node
  Text dot;    ///< Graphviz

 private:
  detail::Inspection* data_;
};

/// One variant that a compiled function was compiled to. Numbers that are not known are -1.
struct Specialization {
  Text signature;     ///< "(f32[2d], f32[1d], f32)": arrays with their ranks, then the numbers
  Text layouts;       ///< "(contiguous, broadcast)": how its kernels walk over each array, see docs/reference.md
  Text device;        ///< "cuda:0", or the architecture of f.compile: "sm_90"
  Text kernels;       ///< names, with ", " between them
  std::int64_t runs;  ///< calls that launched it, on any thread
  int registers;      ///< of its hungriest kernel
  double compile_ms;  ///< what its compiles took in this process; 0 where all came from a cache
  bool from_cache;    ///< nothing was compiled: every kernel came from the disk, a bundle or another function
};

namespace detail {

/// Filled and owned by the library.
struct Specializations {
  const Specialization* items = nullptr;
  unsigned count = 0;
  Text table;
};
KILN_API void destroy(Specializations*) noexcept;

}  // namespace detail

/// What f.specializations() tells, as of that moment. Prints a table to streams.
class Specializations {
 public:
  explicit Specializations(detail::Specializations* p) : data_(p) {}
  Specializations(Specializations&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Specializations& operator=(Specializations&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Specializations() {
    if (data_) detail::destroy(data_);
  }
  std::size_t size() const { return data_->count; }
  const Specialization* begin() const { return data_->items; }
  const Specialization* end() const { return data_->items + data_->count; }
  const Specialization& operator[](std::size_t i) const { return data_->items[i]; }
  /// The table that prints.
  Text text() const { return data_->table; }
  template <class Stream>
    requires(requires(Stream& s) { s.write("", 0L); })
  friend Stream& operator<<(Stream& stream, const Specializations& list) {
    return stream << list.text();
  }

 private:
  detail::Specializations* data_;
};

}  // namespace kiln
