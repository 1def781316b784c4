// kiln/bundle.h -- kernels that were compiled beforehand: loading bundles, and where kernels may come from.
//
//   KILN_RECORD=app.kiln ./app                                       # notes every kernel, on any machine
//   kiln bundle build app.kiln --arch sm_80,sm_90 --ptx sm_80 -o app.klb
//
//   kl::load_bundle("app.klb");                            // or KILN_BUNDLE=app.klb, or kiln_embed_bundle() in CMake
//   kl::set_compile_mode(kl::CompileMode::bundle_only);    // from here on a kernel that is in no bundle is an error
//
// A kernel that comes from a bundle needs neither NVRTC nor kiln's CPU compiler, and neither is loaded. A bundle is
// found by what a kernel is, not by its architecture: machine code for this very GPU is taken first, then that of a
// lower minor version, then PTX, which the driver compiles. Where the plan for this GPU is not in the bundle, the call
// is planned as for the architecture that the bundle's image was built for.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln {

/// Where kernels come from that this process has not loaded yet.
enum class CompileMode : int {
  automatic,    ///< bundles, then the disk cache, then a compiler
  bundle_only,  ///< bundles alone; CompileError with every candidate and why it does not suit
  cache_only,   ///< the disk cache alone; CompileError for a kernel that is not there
  jit_only,     ///< a compiler alone; the disk cache is neither read nor written
};

namespace detail {
KILN_API void load_bundle(const char* path, Where where);
KILN_API int compile_mode() noexcept;
KILN_API void set_compile_mode(int mode, Where where);
}  // namespace detail

/// Maps a bundle of kernels. The one loaded last is looked into first; a path that was loaded before is opened again.
/// From any thread; kernels in use are not touched. IoError names the file and what is wrong with it.
inline void load_bundle(const char* path, detail::Where w = detail::Where::current()) { detail::load_bundle(path, w); }
template <class Path>
  requires(requires(const Path& p) { p.c_str(); })
void load_bundle(const Path& path, detail::Where w = detail::Where::current()) {
  detail::load_bundle(path.c_str(), w);
}

/// Of the process; automatic unless set. `inspect` compiles in every mode, for it shows what the compiler makes.
inline CompileMode compile_mode() { return static_cast<CompileMode>(detail::compile_mode()); }
/// TypeError for a number that is none of the modes.
inline void set_compile_mode(CompileMode mode, detail::Where w = detail::Where::current()) {
  detail::set_compile_mode(static_cast<int>(mode), w);
}

}  // namespace kiln
