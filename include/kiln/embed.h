// kiln/embed.h -- how kiln_embed_bundle() of the CMake package hands a bundle of kernels to the library.
#pragma once

#include <cstddef>

#include <kiln/dtype.h>

extern "C" {

/// One bundle in the memory of this process: static storage, valid until the process ends.
struct kiln_embedded_bundle {
  const void* data;  ///< 64-byte aligned
  std::size_t bytes;
  const char* name;                  ///< for messages: UTF-8
  const kiln_embedded_bundle* next;  ///< kiln's: null until registered
};

/// Adds a bundle to those in which kernels are looked up. It is read when the first kernel is wanted, not here: may be
/// called while static objects are initialised, in any order, from any thread. Once per bundle.
KILN_API void kiln_register_bundle(kiln_embedded_bundle* bundle) noexcept;

}  // extern "C"
