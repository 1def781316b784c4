// dsl/c/raw_kernel.cpp -- kiln_raw_kernel: the host's own CUDA kernels.
#include <kiln/detail/raw_arguments.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "dsl/c/fault.h"
#include "dsl/c/inspection.h"
#include "dsl/c/kernel.h"
#include "dsl/c/scopes.h"
#include "dsl/c/tables.h"
#include "dsl/short_list.h"

struct kiln_raw_kernel {
  kiln_raw_kernel(const kiln::dsl::c::HostMemory& from, const kiln::detail::RawDefinition& definition)
      : memory(from), program(kiln::detail::make_raw(definition)) {}
  ~kiln_raw_kernel() { kiln::detail::release(program); }
  kiln_raw_kernel(const kiln_raw_kernel&) = delete;
  kiln_raw_kernel& operator=(const kiln_raw_kernel&) = delete;
  kiln::dsl::c::HostMemory memory;
  kiln::detail::RawProgram* program;
};

namespace kiln::dsl::c {
namespace {

using detail::RawArgument;

constexpr std::size_t usual_arguments = 16, most_arguments = 4096, most_texts = 65536;

/// The options as the compiler takes them: C++17 where they name no language.
std::vector<detail::RawText> words_of(const kiln_raw_options* options) {
  std::vector<detail::RawText> words;
  bool names_language = false;
  for (std::size_t i = 0; options && i < options->option_count; ++i) {
    require(options->options[i], "an option");
    const std::string_view word(options->options[i]);
    names_language = names_language || word.starts_with("--std") || word.starts_with("-std");
    words.push_back({"", options->options[i]});
  }
  if (!names_language) words.insert(words.begin(), {"--std=", "c++17"});
  return words;
}

std::vector<detail::RawText> headers_of(const kiln_raw_options* options) {
  std::vector<detail::RawText> headers;
  for (std::size_t i = 0; options && i < options->header_count; ++i) {
    require(options->header_names[i], "the name of a header");
    require(options->header_texts[i], "the text of a header");
    headers.push_back({options->header_names[i], options->header_texts[i]});
  }
  return headers;
}

kiln_raw_kernel* make(const char* name, const char* source, const kiln_raw_options* options) {
  require_name(name, "name");
  require(source, "source");
  detail::CodeOptions code;
  if (options) {
    require_known(options, "options");
    require_zero(options->reserved, "options->reserved");
    const auto check = [](const char* const* list, std::size_t count, const char* what) {
      require_list(static_cast<const void*>(list), count, most_texts, what);
    };
    check(options->options, options->option_count, "options->options");
    check(options->header_names, options->header_count, "options->header_names");
    check(options->header_texts, options->header_count, "options->header_texts");
    code = {!flag(options->no_contract, "options->no_contract"), flag(options->fast_math, "options->fast_math"),
            flag(options->lineinfo, "options->lineinfo")};
  }
  const std::vector<detail::RawText> words = words_of(options), headers = headers_of(options);
  return make_object<kiln_raw_kernel>(detail::RawDefinition{.name = name,
                                                            .source = source,
                                                            .options = words.data(),
                                                            .option_count = static_cast<unsigned>(words.size()),
                                                            .headers = headers.data(),
                                                            .header_count = static_cast<unsigned>(headers.size()),
                                                            .code = code});
}

/// Handles and addresses that arguments of one launch refer to.
struct Held {
  detail::Handle handle;
  const void* address = nullptr;
};

RawArgument argument_of(const kiln_argument& given, std::size_t number, Held& held, runtime::DeviceId device) {
  if (given.kind != KILN_ARGUMENT_address && !given.value) fail_argument("the value of argument {} is null", number);
  if (given.kind != KILN_ARGUMENT_structure) require_zero(static_cast<std::int64_t>(given.size), "an argument's size");
  if (given.kind != KILN_ARGUMENT_number) require_zero(given.dtype, "the dtype of an argument that is no number");
  switch (given.kind) {
    case KILN_ARGUMENT_tensor:
      held.handle = bind_any(*static_cast<const kiln_dl_tensor*>(given.value), "argument", device);
      return {&held.handle.data, &held.handle, sizeof(void*), RawArgument::array, held.handle.layout->dtype};
    case KILN_ARGUMENT_number: {
      const DType type = checked_dtype(given.dtype);
      return {given.value, nullptr, static_cast<std::uint32_t>(size_of(type)), RawArgument::number, type};
    }
    case KILN_ARGUMENT_structure:
      if (given.size == 0 || given.size > most_arguments)
        fail_argument("argument {} is a structure of {} bytes; 1 to {} are possible", number, given.size,
                      most_arguments);
      return {given.value, nullptr, static_cast<std::uint32_t>(given.size), RawArgument::structure};
    case KILN_ARGUMENT_address:
      held.address = given.value;
      return {static_cast<const void*>(&held.address), nullptr, sizeof(void*),
              given.value ? RawArgument::address : RawArgument::null};
    default:
      fail_argument("{} is none of KILN_ARGUMENT_...", given.kind);
  }
}

void launch(kiln_raw_kernel* kernel, kiln_dl_device device, void* stream, const kiln_launch_options* options,
            std::int64_t threads, const kiln_argument* arguments, std::size_t count) {
  require(kernel, "kernel");
  require_list(arguments, count, most_arguments, "arguments");
  if (threads < -1) fail_argument("{} threads; -1 where the grid says how many blocks run", threads);
  const runtime::DeviceId on = device_named(device);
  const DeviceScope scope(on);
  ShortList<Held, usual_arguments> held(count);
  ShortList<RawArgument, usual_arguments> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    held[i] = {};
    list[i] = argument_of(arguments[i], i, held[i], on);
  }
  detail::LaunchControl control = launch_control(options);
  control.stream = stream;
  control.has_stream = true;
  detail::launch_raw(*kernel->program, control, threads < 0 ? detail::no_over : threads, list.data(),
                     static_cast<unsigned>(count));
}

}  // namespace
}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_raw_kernel_create(const char* name, const char* source, const kiln_raw_options* options,
                                   kiln_raw_kernel** kernel) noexcept {
  return guarded("kiln_raw_kernel_create", [&] {
    require(static_cast<const void*>(kernel), "kernel");
    *kernel = make(name, source, options);
  });
}

void kiln_raw_kernel_destroy(kiln_raw_kernel* kernel) noexcept { destroy_object(kernel); }

kiln_status kiln_raw_kernel_compile(kiln_raw_kernel* kernel, const char* const* archs,
                                    std::size_t arch_count) noexcept {
  return guarded("kiln_raw_kernel_compile", [&] {
    require(kernel, "kernel");
    require_list(static_cast<const void*>(archs), arch_count, most_archs, "archs");
    for (std::size_t i = 0; i < arch_count; ++i) require(archs[i], "the name of an architecture");
    for (std::size_t i = 0; i < std::max<std::size_t>(arch_count, 1); ++i)
      detail::compile_raw(*kernel->program, arch_count ? archs[i] : nullptr, {});
  });
}

kiln_status kiln_raw_kernel_inspect(kiln_raw_kernel* kernel, const char* arch, const kiln_launch_options* options,
                                    kiln_inspection** inspection) noexcept {
  return guarded("kiln_raw_kernel_inspect", [&] {
    require(kernel, "kernel");
    require(static_cast<const void*>(inspection), "inspection");
    *inspection = hand_out(detail::inspect_raw(*kernel->program, launch_control(options), arch));
  });
}

kiln_status kiln_raw_kernel_launch(kiln_raw_kernel* kernel, kiln_dl_device device, void* stream,
                                   const kiln_launch_options* options, int64_t threads, const kiln_argument* arguments,
                                   std::size_t argument_count) noexcept {
  return guarded("kiln_raw_kernel_launch",
                 [&] { launch(kernel, device, stream, options, threads, arguments, argument_count); });
}

}  // extern "C"
