// tests/embed/wording.cpp -- no message of the library reaches C or Python with names or advice of C++: every literal
// of the sources that are its arguments, as C callers see it. What only the C++ interface can say is left out by its
// file.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/c/wording.h"

namespace {

/// Texts between quotes; neighbours are one, as for the compiler. Braces of format strings become single.
std::vector<std::string> literals(const std::string& source) {
  std::vector<std::string> found;
  bool adjacent = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '/' && source.compare(i, 2, "//") == 0) {
      i = std::min(source.find('\n', i), source.size() - 1);
    } else if (c == '\'' && i + 2 < source.size()) {  // '"', but not the separator of digits
      if (source[i + 1] == '\\' ? source[i + 3] == '\'' : source[i + 2] == '\'') i += source[i + 1] == '\\' ? 3 : 2;
      adjacent = false;
    } else if (c == '"') {
      std::string text;
      for (++i; i < source.size() && source[i] != '"'; ++i) {
        if (source[i] == '\\') ++i;
        const bool doubled = (source[i] == '{' || source[i] == '}') && source[i + 1] == source[i];
        text += source[i];
        i += doubled;
      }
      adjacent ? void(found.back() += text) : found.push_back(text);
      adjacent = true;
    } else if (c != ' ' && c != '\n') {
      adjacent = false;
    }
  }
  return found;
}

/// Never said to C: NumPy's files and DLPack's import are functions of C++, gufuncs too; sources of kernels.
bool only_for_cpp(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("npy") || name == "dlpack.cpp" || name == "recorder_loops.cpp" ||
         name == "raw_signature.cpp" || name == "wording.cpp" || file.string().find("/emit/") != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::string_view cpp[] = {"kl::", "std::", "static_cast<", ".to(",  "astype<", "{.",         "[&]",
                                      "<T>",  "<...>", ".data()",      "C++ n", "k.over(", "k.inspect(", "eval("};
  std::size_t seen = 0, wrong = 0, changed = 0;
  for (const char* layer : {"dsl", "runtime", "codegen", "support"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(argv[argc - 1]) / layer)) {
      const std::filesystem::path& file = entry.path();
      if ((file.extension() != ".cpp" && file.extension() != ".h") || only_for_cpp(file)) continue;
      std::ostringstream source;
      source << std::ifstream(file).rdbuf();
      for (const std::string& text : literals(source.str())) {
        if (text.find(' ') == text.npos || text.find("#include") != text.npos) continue;  // no sentence
        const std::string said = kiln::dsl::c::neutral_wording(text);
        ++seen, changed += said != text;
        for (const std::string_view part : cpp) {
          if (said.find(part) == said.npos) continue;
          std::printf("%s: \"%s\" holds %.*s: add words to dsl/c/wording.cpp\n", file.c_str(), said.c_str(),
                      static_cast<int>(part.size()), part.data());
          ++wrong;
        }
      }
    }
  }
  std::printf("%zu texts, %zu said in other words, %zu wrong\n", seen, changed, wrong);
  return wrong == 0 && changed > 50 ? 0 : 1;
}
