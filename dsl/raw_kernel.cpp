// dsl/raw_kernel.cpp -- definition, compilation and loading of the user's own kernels.
#include "dsl/raw_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "dsl/compile_places.h"
#include "dsl/kernels.h"
#include "dsl/out_of_memory.h"
#include "dsl/shapes.h"
#include "dsl/usage.h"
#include "runtime/activity.h"
#include "support/check.h"
#include "support/log.h"

namespace kiln::dsl {
namespace {

/// "scale" of "ns::scale<float, 4>": names the source in the compiler's messages.
std::string short_name(const std::string& expression) {
  std::string name = expression.substr(0, expression.find('<'));
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos) name = name.substr(colon + 1);
  name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
  return name;
}

std::vector<DeclaredParameter> declared(const KernelSource& source, const std::string& entry,
                                        const std::vector<runtime::KernelParameter>& parameters) {
  std::vector<DeclaredParameter> list =
      declared_parameters(source.text, entry).value_or(std::vector<DeclaredParameter>());
  if (list.size() != parameters.size()) list.assign(parameters.size(), {});  // another declaration, or macros
  for (std::size_t i = 0; i < list.size(); ++i) {
    DeclaredParameter& parameter = list[i];
    const std::size_t size = parameter.kind == DeclaredParameter::pointer ? sizeof(void*)
                             : parameter.lanes == 1                       ? size_of(parameter.type)
                                                                          : parameters[i].size;
    if (size != parameters[i].size) parameter.kind = DeclaredParameter::unknown;
  }
  return list;
}

std::shared_ptr<SpecializationRecord> record_of(const RawVariant& variant, const std::string& name,
                                                std::string device) {
  auto record = std::make_shared<SpecializationRecord>();
  for (std::size_t i = 0; i < variant.parameters.size(); ++i) {
    const std::string& text = variant.declared[i].text;
    record->signature +=
        (i == 0 ? "" : ", ") + (text.empty() ? fmt::format("{} bytes", variant.parameters[i].size) : text);
  }
  record->signature = "(" + record->signature + ")";
  record->layouts = "as given";
  record->device = std::move(device);
  record->add_kernel(name, *variant.binary);
  return record;
}

}  // namespace

std::string parameter_lines(const RawVariant& variant) {
  std::string text;
  for (std::size_t i = 0; i < variant.parameters.size(); ++i) {
    const runtime::KernelParameter& parameter = variant.parameters[i];
    text +=
        fmt::format("  parameter {}: {} byte{} at offset {}{}{}\n", i, parameter.size, parameter.size == 1 ? "" : "s",
                    parameter.offset, variant.declared[i].text.empty() ? "" : ", ", variant.declared[i].text);
  }
  return text;
}

}  // namespace kiln::dsl

namespace kiln::detail {

RawProgram::RawProgram(const RawDefinition& definition) : where_(definition.where) {
  source_.language = Language::cuda;
  source_.text = definition.source;
  source_.expression = definition.name;
  source_.entry = dsl::short_name(source_.expression);
  if (source_.entry.empty())
    fail<CompileError>("kl::raw_kernel: the name of the kernel is empty{}; give the name of a __global__ function",
                       dsl::place(where_));
  for (unsigned i = 0; i < definition.header_count; ++i)
    source_.headers.emplace_back(definition.headers[i].name, definition.headers[i].text);
  for (unsigned i = 0; i < definition.option_count; ++i)
    options_.extra.push_back(std::string(definition.options[i].name) + definition.options[i].text);
  options_.contract = definition.code.contract;
  options_.fast_math = definition.code.fast_math;
  options_.lineinfo = definition.code.lineinfo;
  source_.title = "raw kernel " + source_.expression;
  // Here and not at the first launch, which a machine without a GPU never comes to.
  dsl::record_cuda_kernel(source_, options_, source_.title, "raw kernel" + dsl::place(where_));
}

std::string RawProgram::place(Where launch) const { return dsl::place(launch.file ? launch : where_); }

std::unique_ptr<dsl::RawVariant> RawProgram::compile(const std::string& arch, bool want_ptx, Where where) const {
  auto variant = std::make_unique<dsl::RawVariant>();
  CompileOptions options = options_;
  options.arch = arch;
  variant->arch = arch;
  try {
    variant->binary = want_ptx ? std::make_shared<const runtime::Binary>(runtime::compile(source_, options, true))
                               : runtime::cached_binary(source_, options);
  } catch (const CompileError& error) {
    const std::string here = dsl::place(where), source = dsl::place(where_);
    dsl::fail_with_places(error, (here == source ? "" : here) + "; its source was given at" + source);
  }
  const runtime::Binary& binary = *variant->binary;
  const auto image = runtime::read_kernel_image(binary);
  if (!image)
    fail<CompileError>("kernel {} was compiled for {}, but its binary does not describe {}", name(), arch,
                       binary.entry);
  variant->parameters = image->parameters;
  variant->declared = dsl::declared(source_, binary.entry, image->parameters);
  variant->limits = &runtime::gpu_limits(arch);
  variant->max_threads = runtime::max_threads(binary.registers, image->max_threads);
  const auto fixed = static_cast<std::uint32_t>(std::max(0, binary.shared_bytes));
  variant->dynamic = variant->limits->shared_per_block() - std::min(fixed, variant->limits->shared_per_block());
  variant->default_block = runtime::best_block(variant->use(0, 0), variant->max_threads, *variant->limits);
  return variant;
}

const dsl::RawVariant& RawProgram::load(int index, Where where) {
  const runtime::DeviceId device{runtime::DeviceKind::cuda, index};
  runtime::Backend& backend = runtime::backend(device);
  backend.bind_thread();  // refuses a forked child, which may find the mutex locked
  const std::lock_guard lock(mutex_);
  if (index >= dsl::max_cuda_devices)
    fail<DeviceError>("cuda:{} is beyond the {} devices that kiln launches raw kernels on", index,
                      dsl::max_cuda_devices);
  if (const dsl::RawVariant* const found = here_[index].load(std::memory_order_relaxed)) return *found;
  const runtime::Planning planning(name() + place({}));
  std::unique_ptr<dsl::RawVariant> variant = compile(backend.info().arch, false, where);
  KernelSource described = source_;
  for (const runtime::KernelParameter& parameter : variant->parameters)
    described.argument_bytes = std::max(described.argument_bytes, parameter.offset + parameter.size);
  described.max_threads = static_cast<int>(variant->max_threads);
  variant->backend = &backend;
  variant->loaded = backend.load(*variant->binary, described);
  variant->record = specializations.add(dsl::record_of(*variant, name(), dsl::device_text(device)));
  here_[index].store(variant.get(), std::memory_order_release);
  variants_.push_back(std::move(variant));
  return *variants_.back();
}

void RawProgram::precompile(const std::string& arch, Where where) {
  specializations.add(dsl::record_of(*compile(arch, false, where), name(), arch));
}

Specializations* specializations(RawProgram& program) { return program.specializations.list(); }

char* copy_text(const char* text, std::size_t size) {
  auto* const copy = static_cast<char*>(std::malloc(size + 1));
  if (!copy) fail<OutOfMemory>("no host memory for a text of {} bytes", size);
  std::memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

void free_text(char* text) noexcept { std::free(text); }

RawProgram* make_raw(const RawDefinition& definition) try {
  return new RawProgram(definition);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("make a raw kernel", definition.where);
}

void retain(RawProgram* program) noexcept {
  if (program) program->references.fetch_add(1, std::memory_order_relaxed);
}

void release(RawProgram* program) noexcept {
  if (program && program->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete program;
}

void compile_raw(RawProgram& program, const char* arch, Where where) try {
  if (arch) {
    program.precompile(arch, where);
    return;
  }
  const runtime::DeviceId device = dsl::current_device();
  if (device.kind == runtime::DeviceKind::cpu) {
    fail<DeviceError>(
        "raw kernel {} is CUDA text and the current device is the CPU{}; name the architecture: "
        "k.compile({{.archs = {{\"sm_90\"}}}})",
        program.name(), program.place(where));
  }
  program.on_device(device.index, where);
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("compile a raw kernel", where);
}

}  // namespace kiln::detail
