// tools/kiln/main.cpp -- the kiln command: finds the subcommand and runs it.
#include <cstdio>

#include <fmt/format.h>

#include "runtime/tool_report.h"
#include "tools/kiln/command.h"

namespace kiln::command {
namespace {

const Command* find(std::string_view name) {
  for (const Command& command : commands())
    if (name == command.name) return &command;
  return nullptr;
}

void print(std::FILE* to, const std::string& text) { std::fputs(text.c_str(), to); }

std::string overview() {
  std::string text = "usage: kiln COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands()) text += fmt::format("  {:10} {}\n", command.name, command.summary);
  text += "  help       this, or `kiln help COMMAND`\n\n  --version  version of the library\n";
  return text;
}

int help(const std::string& name) {
  if (name.empty()) {
    print(stdout, overview());
    return success;
  }
  const Command* const command = find(name);
  if (!command) throw Misuse(fmt::format("there is no command \"{}\"", name));
  print(stdout, command->usage);
  return success;
}

int dispatch(const std::string& name, std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  if (name == "--version") {
    print(stdout, fmt::format("kiln {}\n", tool::version()));
    return success;
  }
  if (name == "help" || name == "--help" || name == "-h") return help(arguments.take_word());
  const Command* const command = find(name);
  if (!command) throw Misuse(name.empty() ? "a command is missing" : fmt::format("there is no command \"{}\"", name));
  if (arguments.take_flag("--help") || arguments.take_flag("-h")) return help(name);
  return command->run(arguments);
}

}  // namespace

int main_of(std::vector<std::string> words) {
  std::string name;
  if (!words.empty()) {
    name = words.front();
    words.erase(words.begin());
  }
  try {
    return dispatch(name, std::move(words));
  } catch (const Misuse& mistake) {
    const Command* const command = find(name);
    print(stderr, fmt::format("kiln: {}\n{}", mistake.what(), command ? command->usage : overview()));
    return misuse;
  } catch (const std::exception& error) {
    print(stderr, fmt::format("kiln: {}\n", error.what()));
    return trouble;
  }
}

}  // namespace kiln::command

int main(int argc, char** argv) { return kiln::command::main_of({argv + 1, argv + argc}); }
