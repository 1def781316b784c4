// dsl/raw_kernel.h -- a kernel of the user's own: its source, and what was compiled of it for each device.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <kiln/detail/raw_arguments.h>

#include "dsl/raw_signature.h"
#include "dsl/session.h"
#include "dsl/specializations.h"
#include "runtime/kernel_image.h"
#include "runtime/occupancy.h"
#include "runtime/runtime.h"

namespace kiln::dsl {

/// A raw kernel compiled for one architecture. Immutable.
struct RawVariant {
  std::shared_ptr<const runtime::Binary> binary;
  std::string arch;
  std::vector<runtime::KernelParameter> parameters;
  std::vector<DeclaredParameter> declared;  ///< one per parameter
  const runtime::GpuLimits* limits = nullptr;
  unsigned max_threads = 0;    ///< of a block
  std::uint32_t dynamic = 0;   ///< most bytes of dynamic shared memory
  unsigned default_block = 0;  ///< without dynamic shared memory
  // On a device that is here.
  runtime::Backend* backend = nullptr;
  std::shared_ptr<const runtime::LoadedKernel> loaded;
  std::shared_ptr<SpecializationRecord> record;

  runtime::BlockUse use(unsigned threads, std::uint32_t dynamic_bytes) const {
    return {binary->registers, threads, static_cast<std::uint64_t>(binary->shared_bytes) + dynamic_bytes};
  }
};

/// The variant's parameters with what the declaration says of them, one per line.
std::string parameter_lines(const RawVariant& variant);

}  // namespace kiln::dsl

namespace kiln::detail {

struct RawProgram {
  explicit RawProgram(const RawDefinition& definition);

  /// The kernel loaded on cuda:`index`: compiled at most once, on behalf of the launch at `where`.
  const dsl::RawVariant& on_device(int index, Where where) {
    const dsl::RawVariant* const found =
        static_cast<unsigned>(index) < dsl::max_cuda_devices ? here_[index].load(std::memory_order_acquire) : nullptr;
    return found ? *found : load(index, where);
  }
  /// Compiled for an architecture that need not be here; not loaded.
  std::unique_ptr<dsl::RawVariant> compile(const std::string& arch, bool want_ptx, Where where = {}) const;
  /// Compiles into the caches, for an architecture that need not be here.
  void precompile(const std::string& arch, Where where);

  const KernelSource& source() const { return source_; }
  const std::string& name() const { return source_.expression; }
  /// " (file:line)" of the launch, or of the definition where the launch does not know its own.
  std::string place(Where launch) const;

  std::atomic<long> references = 1;
  dsl::SpecializationList specializations;

 private:
  const dsl::RawVariant& load(int index, Where where);

  KernelSource source_;
  CompileOptions options_;
  Where where_;
  std::atomic<const dsl::RawVariant*> here_[dsl::max_cuda_devices] = {};
  std::mutex mutex_;
  std::vector<std::unique_ptr<const dsl::RawVariant>> variants_;
};

}  // namespace kiln::detail
