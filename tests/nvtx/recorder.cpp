// tests/nvtx/recorder.cpp -- a profiling tool as NVTX sees it: keeps the domains and ranges that a program announces.
#include <nvtx3/nvToolsExt.h>

#include <string>

namespace {

// "kiln{outer{inner}}": domains, opened ranges, closed ranges, in the order of their calls. One thread.
std::string& record() {
  static auto* const text = new std::string;
  return *text;
}

nvtxDomainHandle_t create_domain(const char* name) {
  record() += std::string("domain ") + name + ": ";
  return reinterpret_cast<nvtxDomainHandle_t>(&record());
}
int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  record() += std::string("{") + attributes->message.ascii;
  return 0;
}
int pop(nvtxDomainHandle_t) {
  record() += "}";
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* recorded_ranges() { return record().c_str(); }

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &functions, &size)) return 0;
  *functions[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create_domain);
  *functions[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *functions[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}
