// runtime/include_closure.cpp -- a worklist over #include lines.
#include "runtime/include_closure.h"

#include <sys/stat.h>

#include <cstdio>
#include <optional>

#include "support/hash.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t most_files = 2000;

std::string_view skip_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

/// What follows `#include` on this line, or nothing if the line is no include.
std::optional<std::string_view> include_operand(std::string_view line) {
  line = skip_blanks(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = skip_blanks(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  return skip_blanks(line.substr(7));
}

std::optional<std::string> read_text(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (!file) return std::nullopt;
  std::string text;
  char buffer[16384];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, file)) text.append(buffer, count);
  std::fclose(file);
  return text;
}

/// Value of an option that may be joined to its name or be the next word.
bool option_value(const std::vector<std::string>& options, std::size_t& i, std::string_view name, std::string& value) {
  const std::string_view option = options[i];
  if (!option.starts_with(name)) return false;
  if (option.size() > name.size()) {
    value = option.substr(name.size() + (option[name.size()] == '=' ? 1 : 0));
    return true;
  }
  if (i + 1 >= options.size()) return false;
  value = options[++i];
  return true;
}

class Walk {
 public:
  explicit Walk(const std::vector<std::string>& options) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      std::string value;
      if (option_value(options, i, "--include-path", value) || option_value(options, i, "-I", value)) {
        directories_.push_back(value);
      } else if (option_value(options, i, "--pre-include", value) || option_value(options, i, "-include", value)) {
        pre_includes_.push_back(value);
      }
    }
    directories_.push_back(".");  // a quoted name is also looked up beside the program
  }

  IncludeClosure run(std::string_view source) {
    for (const std::string& name : pre_includes_) reach(name, "");
    scan(source, "");
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      const auto [path, text] = std::move(pending_[i]);
      const std::size_t slash = path.rfind('/');
      scan(text, slash == std::string::npos ? "." : path.substr(0, slash));
      if (closure_.files.size() > most_files) {
        closure_.complete = false;
        break;
      }
    }
    return std::move(closure_);
  }

 private:
  void scan(std::string_view text, const std::string& directory) {
    if (text.find("include") == std::string_view::npos) return;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::optional<std::string_view> operand = include_operand(text.substr(0, end));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      if (!operand) continue;
      const char close = operand->starts_with('"') ? '"' : operand->starts_with('<') ? '>' : '\0';
      const std::size_t stop = close ? operand->find(close, 1) : std::string_view::npos;
      if (stop == std::string_view::npos) {
        closure_.complete = false;  // a macro names the file
      } else {
        reach(std::string(operand->substr(1, stop - 1)), close == '"' ? directory : "");
      }
    }
  }

  void reach(const std::string& name, const std::string& beside) {
    if (name.starts_with('/')) return void(take(name));
    if (!beside.empty() && take(beside + "/" + name)) return;
    for (const std::string& directory : directories_)
      if (take(directory + "/" + name)) return;
  }

  bool take(const std::string& path) {
    if (closure_.files.contains(path)) return true;
    std::optional<std::string> text = read_text(path);
    if (!text) return false;
    closure_.files.emplace(path, to_hex(blake3(*text)));
    pending_.emplace_back(path, std::move(*text));
    return true;
  }

  std::vector<std::string> directories_;
  std::vector<std::string> pre_includes_;
  std::vector<std::pair<std::string, std::string>> pending_;
  IncludeClosure closure_;
};

}  // namespace

IncludeClosure include_closure(std::string_view source, const std::vector<std::string>& options) {
  return Walk(options).run(source);
}

}  // namespace kiln::runtime
