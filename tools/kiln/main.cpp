// tools/kiln/main.cpp -- the kiln command: finds the subcommand and runs it.
#include <cstdio>

#include <fmt/format.h>

#include "runtime/tool_report.h"
#include "tools/kiln/command.h"
#include "tools/kiln/text.h"

namespace kiln::command {
namespace {

const Command* find(std::string_view name) {
  for (const Command& command : commands())
    if (name == command.name) return &command;
  return nullptr;
}

std::string overview() {
  std::string text = "usage: kiln COMMAND [OPTIONS]\n\n";
  for (const Command& command : commands()) text += fmt::format("  {:10} {}\n", command.name, command.summary);
  text += "  help       this, or `kiln help COMMAND`\n\n  --version  version of the library\n";
  return text;
}

void complain(const std::string& text) { std::fputs(text.c_str(), stderr); }

int help(const std::string& name) {
  if (name.empty()) {
    print(overview());
    return success;
  }
  const Command* const command = find(name);
  if (!command) throw Misuse(fmt::format("there is no command \"{}\"", name));
  print(command->usage);
  return success;
}

int dispatch(const std::string& name, std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  if (name == "--version") {
    print(fmt::format("kiln {}\n", tool::version()));
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
    complain(fmt::format("kiln: {}\n{}", mistake.what(), command ? command->usage : overview()));
    return misuse;
  } catch (const std::exception& error) {
    complain(fmt::format("kiln: {}\n", error.what()));
    return trouble;
  }
}

/// A listing that is cut off must not look like a short one.
int with_output(int status) {
  const std::string problem = flush_output();
  if (problem.empty()) return status;
  complain(fmt::format("kiln: the output cannot be written: {}\n", problem));
  return status == success ? trouble : status;
}

}  // namespace kiln::command

int main(int argc, char** argv) { return kiln::command::with_output(kiln::command::main_of({argv + 1, argv + argc})); }
