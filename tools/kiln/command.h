// tools/kiln/command.h -- a subcommand of the kiln command, and the words that follow it.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::command {

// What the command exits with.
inline constexpr int success = 0, trouble = 1, misuse = 2;

/// The words make no sense: what is wrong with them. The caller shows it, with how the command is used.
class Misuse : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Words of the command line, taken one by one; what nobody takes is a mistake.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {}
  /// "--json"
  bool take_flag(std::string_view name);
  /// "--limit 1G" or "--limit=1G"
  std::optional<std::string> take_value(std::string_view name);
  /// The next word that is no option; empty if there is none.
  std::string take_word();
  /// Throws Misuse if anything is left.
  void finish() const;

 private:
  std::vector<std::string> words_;
};

/// What `kiln bundle ls` and the like do.
struct Action {
  const char* name;
  int (*run)(Arguments& arguments);
};
/// The one of `actions` that is called `name`, or null.
const Action* find_action(std::span<const Action> actions, std::string_view name);

struct Command {
  const char* name;
  const char* summary;  ///< one line of `kiln help`
  const char* usage;    ///< what `kiln help NAME` prints
  int (*run)(Arguments& arguments);
};
/// All of them, in the order of `kiln help`. A new one is a file of its own and a row in commands.cpp.
std::span<const Command> commands();

int run_info(Arguments& arguments);
int run_cache(Arguments& arguments);
int run_bundle(Arguments& arguments);
int run_bundle_build(Arguments& arguments);
int run_tune(Arguments& arguments);

}  // namespace kiln::command
