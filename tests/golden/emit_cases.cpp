// tests/golden/emit_cases.cpp -- prints the kernels of the emulation for the compiler of the host: a namespace each,
// and a table of functions by name.
#include <cstdio>
#include <string_view>

#include "codegen/emit/cuda_sort.h"
#include "tests/golden/candidate_cases.h"
#include "tests/golden/window_cases.h"

namespace {

/// One kernel in a namespace of its own; returns its row of the table.
std::string print_kernel(const std::string& name, kiln::KernelSource source) {
  const std::string linkage = "extern \"C\" ";  // names repeat from namespace to namespace
  source.text.erase(source.text.rfind(linkage), linkage.size());
  std::printf("namespace %s {\n%s", name.c_str(), source.text.c_str());
  std::printf("void call(const void* a) { %s(*static_cast<const Arguments*>(a)); }\n}\n", source.entry.c_str());
  return "    {\"" + name + "\", &" + name + "::call, sizeof(" + name + "::Arguments)},\n";
}

std::string print_sorts() {
  using namespace kiln::codegen;
  return print_kernel("sort_count", emit_sort_count()) + print_kernel("sort_move", emit_sort_move()) +
         print_kernel("join_f32", emit_join_runs(kiln::DType::f32)) +
         print_kernel("join_bf16", emit_join_runs(kiln::DType::bf16)) +
         print_kernel("join_c64", emit_join_runs(kiln::DType::c64));
}

std::string print_candidates() {
  std::string table;
  for (const auto& test : kiln::golden::candidate_cases()) {
    for (std::size_t k = 0; k < test.candidates.size(); ++k)
      table += print_kernel(test.name + "_" + std::to_string(k),
                            kiln::codegen::emit_cuda(test.kernel, test.candidates[k].schedule, {}));
  }
  return table;
}

}  // namespace

int main(int count, char** arguments) {
  std::string table;
  const std::string_view which = count > 1 ? arguments[1] : "rows";
  if (which == "sorts") {
    table = print_sorts();
  } else if (which == "candidates") {
    table = print_candidates();
  } else {
    for (const auto& test : which == "columns"   ? kiln::golden::column_cases()
                            : which == "scans"   ? kiln::golden::scan_cases()
                            : which == "windows" ? kiln::golden::window_cases()
                                                 : kiln::golden::row_cases())
      table += print_kernel(test.name, kiln::codegen::emit_cuda(test.kernel, test.schedule, {}));
  }
  std::printf("struct Emitted {\n  const char* name;\n  void (*call)(const void*);\n  unsigned long size;\n};\n");
  std::printf("const Emitted emitted[] = {\n%s};\n", table.c_str());
  return 0;
}
