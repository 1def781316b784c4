// tests/golden/emit_cases.cpp -- prints the kernels of the emulation for the compiler of the host: a namespace each,
// and a table of functions by name.
#include <cstdio>
#include <string_view>

#include "tests/golden/window_cases.h"

int main(int count, char** arguments) {
  std::string table;
  const std::string_view which = count > 1 ? arguments[1] : "rows";
  for (const auto& test : which == "columns"   ? kiln::golden::column_cases()
                          : which == "scans"   ? kiln::golden::scan_cases()
                          : which == "windows" ? kiln::golden::window_cases()
                                               : kiln::golden::row_cases()) {
    kiln::KernelSource source = kiln::codegen::emit_cuda(test.kernel, test.schedule, {});
    const std::string linkage = "extern \"C\" ";  // names repeat from namespace to namespace
    source.text.erase(source.text.rfind(linkage), linkage.size());
    std::printf("namespace %s {\n%s", test.name.c_str(), source.text.c_str());
    std::printf("void call(const void* a) { %s(*static_cast<const Arguments*>(a)); }\n}\n", source.entry.c_str());
    table += "    {\"" + test.name + "\", &" + test.name + "::call, sizeof(" + test.name + "::Arguments)},\n";
  }
  std::printf("struct Emitted {\n  const char* name;\n  void (*call)(const void*);\n  unsigned long size;\n};\n");
  std::printf("const Emitted emitted[] = {\n%s};\n", table.c_str());
  return 0;
}
