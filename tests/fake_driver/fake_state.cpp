// tests/fake_driver/fake_state.cpp -- the fake driver's record of calls and faults.
#include "tests/fake_driver/fake_state.h"

namespace kiln::fake {

FakeDriver& state() {
  static auto* const instance = new FakeDriver;
  return *instance;
}

CUresult step(const char* function, const std::string& details) {
  FakeDriver& s = state();
  const std::lock_guard lock(s.mutex);
  s.calls.push_back(details.empty() ? function : function + (" " + details));
  if (s.deinitialized) return CUDA_ERROR_DEINITIALIZED;
  const auto fault = s.faults.find(function);
  if (fault == s.faults.end()) return CUDA_SUCCESS;
  if (fault->second.skip > 0) {
    --fault->second.skip;
    return CUDA_SUCCESS;
  }
  if (fault->second.times <= 0) return CUDA_SUCCESS;
  --fault->second.times;
  return static_cast<CUresult>(fault->second.result);
}

void copy_arguments(void** parameters) {
  FakeDriver& s = state();
  s.arguments.clear();
  std::vector<std::size_t> sizes = s.parameter_bytes;
  if (sizes.empty() && s.argument_bytes > 0) sizes = {s.argument_bytes};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* const bytes = static_cast<const unsigned char*>(parameters[i]);
    s.arguments.insert(s.arguments.end(), bytes, bytes + sizes[i]);
  }
}

bool is_loaded(CUkernel kernel) {
  const std::lock_guard lock(state().mutex);
  return state().libraries.contains(kernel->library);
}

std::vector<CUkernel>& captured_kernels() {
  static auto* const list = new std::vector<CUkernel>;
  return *list;
}

std::vector<void*>& handles() {
  static auto* const list = new std::vector<void*>;
  return *list;
}

}  // namespace kiln::fake
