// kiln/raw_kernel.h -- kl::raw_kernel: the user's own CUDA kernels, compiled, cached, checked and launched by kiln.
#pragma once

#include <kiln/detail/raw_arguments.h>
#include <kiln/jit.h>

namespace kiln {

/// A header that exists only as text: `#include` finds it by this name before it looks for a file.
struct RawHeader {
  detail::OwnedText name = {};
  detail::OwnedText text = {};
};

/// How the source of a raw kernel is compiled. Everything here, and the contents of every file that is included from
/// `include_paths`, is part of the kernel's key in the cache. The headers of the CUDA toolkit (<cuda_fp16.h>,
/// <cooperative_groups.h>, <cuda/std/...>, <cub/...>) are found by themselves where a toolkit is installed.
struct RawOptions {
  std::vector<detail::OwnedText> include_paths = {};
  std::vector<detail::OwnedText> defines = {};  ///< "N=4", or "CHECKED"
  detail::OwnedText std = "c++17";
  bool contract = true;    ///< a * b + c may be rounded once (FMA)
  bool fast_math = false;  ///< --use_fast_math
  bool lineinfo = false;   ///< line numbers of the source for profilers and debuggers
  std::vector<RawHeader> headers = {};
  std::vector<detail::OwnedText> extra = {};  ///< further NVRTC options, e.g. "--maxrregcount=64"
};

class RawKernel;

namespace detail {

/// A call of a raw kernel in preparation: k[{.grid = g, .block = b}] or k.over(n).
class RawCall {
 public:
  RawCall(RawProgram* program, const LaunchControl& launch, std::int64_t over = no_over)
      : program_(program), launch_(launch), over_(over) {}
  template <class... A>
  void operator()(const A&... arguments) const {
    const RawArgument list[] = {raw_argument(arguments)..., RawArgument{}};
    launch_raw(*program_, launch_, over_, list, sizeof...(A));
  }
  /// At least `n` threads in a one-dimensional grid.
  RawCall over(std::int64_t n) const { return {program_, launch_, n}; }
  /// As RawKernel::inspect, for this block size and shared memory.
  kiln::Inspection inspect(const char* arch = nullptr) const {
    return kiln::Inspection(inspect_raw(*program_, launch_, arch));
  }

 private:
  RawProgram* program_;
  LaunchControl launch_;
  std::int64_t over_;
};

}  // namespace detail

/// A kernel of the user's own, made by kl::raw_kernel. Copies are cheap and share what was compiled; all functions may
/// be called from any thread.
///
/// Launching is asynchronous, on the given stream or on the thread's current one. Each argument is checked against the
/// parameters of the compiled kernel:
/// - an Array or View gives the address of its first element (strides are the caller's business), must be on a CUDA
///   device, and lives until the stream has used it. Its element type is checked where the declaration names it;
/// - numbers, kl::scalar<T>(v), kl::half, kl::bfloat16 and std::complex are passed by value,
///   in their own size: an int is not converted to the float
///   that a parameter may want;
/// - trivially copyable structures are passed by value; nullptr and raw pointers as they are.
/// TypeError: arguments that do not match. ShapeError: a grid, block or amount of shared memory that no launch can
/// have. DeviceError: arrays or a current device where no CUDA kernel can run. CompileError: the source does not
/// compile.
class RawKernel {
 public:
  explicit RawKernel(detail::RawProgram* owned) : program_(owned) {}
  RawKernel(const RawKernel& other) : program_(other.program_) { detail::retain(program_); }
  RawKernel(RawKernel&& other) noexcept : program_(other.program_) { other.program_ = nullptr; }
  RawKernel& operator=(RawKernel other) noexcept {
    std::swap(program_, other.program_);
    return *this;
  }
  ~RawKernel() { detail::release(program_); }

  /// k[{.grid = {gx, gy}, .block = {32, 8}, .shared_bytes = 4224, .stream = s}](out, in, n). Without `.block` the block
  /// has the size that keeps most threads resident. `.shared_bytes` above 48 KiB is asked for by itself, `.cluster`
  /// needs compute capability 9.0, `.cooperative` checks that all blocks fit at once. `.items` means nothing here.
  detail::RawCall operator[](const Launch& launch) const { return {program_, detail::launch_control(launch)}; }
  template <class N>
    requires(std::is_integral_v<N>)
  detail::RawCall operator[](N) const {
    static_assert(detail::no_dtype<N>::value,
                  "kiln: what a launch is told has names: k[{.grid = {gx, gy}, .block = {32, 8}}](x), or k.over(n)(x)");
    return (*this)[Launch{}];
  }
  /// k.over(n)(out, in, n): as many blocks as `n` threads need, in one dimension; the block's size keeps most threads
  /// resident (or is that of k[{.block = 128}].over(n)). The kernel must do nothing in threads from `n` on.
  detail::RawCall over(std::int64_t n, detail::Where where = detail::Where::current()) const {
    detail::LaunchControl launch;
    launch.where = where;
    return {program_, launch, n};
  }

  /// How many threads run is not to be guessed.
  template <class... A>
  void operator()(const A&...) const {
    static_assert(sizeof...(A) == ~std::size_t{},
                  "kiln: a raw kernel is launched with a grid: k[{.grid = {gx, gy}, .block = {32, 8}}](...), or "
                  "k.over(n)(...) for at least n threads");
  }

  /// Compiles, for the current device or for a named architecture ("sm_90") that need not be here, and tells registers,
  /// spilled bytes, shared memory, occupancy (of k[{.block = 256}].inspect(...), else of the best block), source, PTX
  /// and machine code. explain() lists the parameters.
  Inspection inspect(const char* arch = nullptr, detail::Where where = detail::Where::current()) const {
    detail::LaunchControl launch;
    launch.where = where;
    return Inspection(detail::inspect_raw(*program_, launch, arch));
  }
  /// Compiles into the caches ahead of the first launch, without a GPU: k.compile({.archs = {"sm_80", "sm_90"}}). No
  /// architectures mean the current device.
  void compile(const CompileFor& what = {}, detail::Where w = detail::Where::current()) const {
    for (const char* arch : what.archs) detail::compile_raw(*program_, arch, w);
    if (what.archs.empty()) detail::compile_raw(*program_, nullptr, w);
  }
  /// One row per device that it was loaded on and per architecture that it was compiled for: see
  /// Jit::specializations. The signature is the list of parameters.
  Specializations specializations() const { return Specializations(detail::specializations(*program_)); }

 private:
  detail::RawProgram* program_;
};

/// Makes a kernel of the `__global__` function `name` in CUDA C++ `source`: a plain or `extern "C"` function, one in a
/// namespace ("ns::f"), or an instance of a template ("scale<float, 4>"). Nothing is compiled before the first launch,
/// inspect or compile.
template <int = 0>  // a template, so that files which make no raw kernel compile none of it
RawKernel raw_kernel(const detail::OwnedText& name, const detail::OwnedText& source, const RawOptions& options = {},
                     detail::Where where = detail::Where::current()) {
  std::vector<detail::RawText> words, headers;
  for (const auto& path : options.include_paths) words.push_back({"--include-path=", path.c_str()});
  for (const auto& define : options.defines) words.push_back({"--define-macro=", define.c_str()});
  words.push_back({"--std=", options.std.c_str()});
  for (const auto& extra : options.extra) words.push_back({"", extra.c_str()});
  for (const auto& header : options.headers) headers.push_back({header.name.c_str(), header.text.c_str()});
  return RawKernel(detail::make_raw({.name = name.c_str(),
                                     .source = source.c_str(),
                                     .options = words.data(),
                                     .option_count = static_cast<unsigned>(words.size()),
                                     .headers = headers.data(),
                                     .header_count = static_cast<unsigned>(headers.size()),
                                     .code = {options.contract, options.fast_math, options.lineinfo},
                                     .where = where}));
}

}  // namespace kiln
