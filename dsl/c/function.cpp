// dsl/c/function.cpp -- kiln_function: functions of CUDA text, and calls of them in graphs.
#include "dsl/c/function.h"

#include "dsl/c/fault.h"
#include "dsl/c/tables.h"
#include "support/log.h"

namespace kiln::dsl::c {
namespace {

constexpr std::size_t most_parameters = 8;

void check(const kiln_function_description& description) {
  require_name(description.name, "description->name");
  require(description.text, "description->text");
  require_zero(description.reserved, "description->reserved");
  if (description.parameter_count < 1 || description.parameter_count > most_parameters)
    fail_argument("{} parameters; functions have 1 to {}", description.parameter_count, most_parameters);
  require(description.parameter_names, "description->parameter_names");
  require(description.parameter_types, "description->parameter_types");
  for (std::size_t i = 0; i < description.parameter_count; ++i)
    require_name(description.parameter_names[i], "the name of a parameter");
}

}  // namespace

HostVersion::HostVersion(const kiln_function_description& description)
    : function_(description.host),
      context_(description.context),
      destroy_(description.destroy),
      count_(description.parameter_count) {}

HostVersion::~HostVersion() {
  try {
    if (destroy_) destroy_(context_);
  } catch (...) {
    warn_once("the host's destroy threw for the context of a function");
  }
}

void HostVersion::run(const void* owner, unsigned char* block, std::int64_t stride, std::int64_t count) noexcept {
  HostVersion& self = **static_cast<const Owner*>(owner);
  const void* arguments[most_parameters];
  for (std::size_t i = 0; i < self.count_; ++i) arguments[i] = block + (static_cast<std::int64_t>(i) + 1) * stride;
  try {
    self.function_(self.context_, block, arguments, count);
  } catch (...) {
    self.threw_.store(true, std::memory_order_relaxed);
  }
}

UserFunction::UserFunction(const kiln_function_description& given, std::shared_ptr<HostVersion> host)
    : host_(std::move(host)) {
  check(given);
  name_ = given.name;
  std::vector<DType> declared;
  for (std::size_t i = 0; i < given.parameter_count; ++i) {
    declared.push_back(checked_dtype(given.parameter_types[i]));
    parameters_.push_back(compute_type(declared.back()));
  }
  detail::FunctionText text{.name = given.name,
                            .parameter_names = given.parameter_names,
                            .parameters = declared.data(),
                            .count = static_cast<unsigned>(declared.size()),
                            .result = checked_dtype(given.result_type),
                            .text = given.text};
  if (host_) {
    text.thunk = &HostVersion::run;
    text.context = new HostVersion::Owner(host_);
    text.destroy = [](const void* owner) { delete static_cast<const HostVersion::Owner*>(owner); };
  }
  slot_ = detail::make_function(text, {});
  if (!given.preamble || !*given.preamble) return;
  detail::Slot without = slot_;
  try {
    slot_ = detail::with_preamble(without, given.preamble);
  } catch (...) {
    detail::release_slots(&without, 1);
    throw;
  }
  detail::release_slots(&without, 1);
}

UserFunction::~UserFunction() { detail::release_slots(&slot_, 1); }

void UserFunction::check_host() const {
  if (host_ && host_->take_failure()) [[unlikely]]
    throw Fault(KILN_ERROR_CALLBACK, fmt::format("the host's version of function {} threw", name_));
}

}  // namespace kiln::dsl::c

using namespace kiln;
using namespace kiln::dsl::c;

extern "C" {

kiln_status kiln_function_create(const kiln_function_description* description, kiln_function** function) noexcept {
  return guarded("kiln_function_create", [&] {
    require(description, "description");
    require_known(description, "description");
    std::shared_ptr<HostVersion> host;  // frees the context whatever is wrong with the rest
    if (description->host || description->destroy) host = std::make_shared<HostVersion>(*description);
    require(function, "function");
    if (!description->host) host.reset();
    *function = make_object<kiln_function>(std::make_shared<const UserFunction>(*description, std::move(host)));
  });
}

void kiln_function_destroy(kiln_function* function) noexcept { destroy_object(function); }

}  // extern "C"
