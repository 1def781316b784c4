// runtime/cpu/jit/kiln_cpu.h -- the C interface of libkiln_cpu.so, the CPU compiler. Nothing else is exported.
//
// The library holds LLVM with hidden symbols, installs no signal handlers and starts no threads. Every failure comes
// back as text. All functions may be called from any thread.
#ifndef KILN_RUNTIME_CPU_JIT_KILN_CPU_H
#define KILN_RUNTIME_CPU_JIT_KILN_CPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Changes whenever a function or the image format does; the core refuses a library with another number. */
#define KILN_CPU_INTERFACE 2

#define KILN_CPU_MAGIC 0x3155504e4c494bull /* "KILNPU1" */

/** Start of an image: position-independent machine code and constants that need one mapping and no relocation. */
struct kiln_cpu_image_header {
  uint64_t magic;
  uint64_t size;  /**< of the whole image in bytes, header included */
  uint64_t entry; /**< offset of the kernel from the start of the image */
  uint64_t reserved[5];
};

struct kiln_cpu_request {
  const char* text; /**< LLVM IR */
  size_t text_size;
  const char* entry; /**< symbol of the kernel */
  const char* arch;  /**< "x86-64 avx2,fma,f16c": features that are present; every other one is switched off */
  int want_assembly; /**< also print assembly text */
};

struct kiln_cpu_result; /* opaque */

int kiln_cpu_interface(void);
/** "LLVM 19.1.7": part of the cache key. */
const char* kiln_cpu_version(void);
/** Null where not even the result has memory; free with kiln_cpu_release. */
struct kiln_cpu_result* kiln_cpu_compile(const struct kiln_cpu_request* request);
/** Null when the compile succeeded. */
const char* kiln_cpu_error(const struct kiln_cpu_result* result);
/** 1 where the error is that the system had no memory. */
int kiln_cpu_out_of_memory(const struct kiln_cpu_result* result);
const void* kiln_cpu_image(const struct kiln_cpu_result* result, size_t* size);
const char* kiln_cpu_assembly(const struct kiln_cpu_result* result);
void kiln_cpu_release(struct kiln_cpu_result* result);

#ifdef __cplusplus
}
#endif

#endif
