// tools/kiln/arguments.cpp -- takes options and words off the command line.
#include <algorithm>

#include "tools/kiln/command.h"

namespace kiln::command {

bool Arguments::take_flag(std::string_view name) {
  const auto found = std::find(words_.begin(), words_.end(), name);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

std::optional<std::string> Arguments::take_value(std::string_view name) {
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    if (*word == name) {
      if (word + 1 == words_.end()) throw Misuse(std::string(name) + " needs a value");
      std::string value = word[1];
      words_.erase(word, word + 2);
      return value;
    }
    if (word->starts_with(name) && (*word)[name.size()] == '=') {
      std::string value = word->substr(name.size() + 1);
      words_.erase(word);
      return value;
    }
  }
  return std::nullopt;
}

std::string Arguments::take_word() {
  const auto found =
      std::find_if(words_.begin(), words_.end(), [](const auto& word) { return !word.starts_with('-'); });
  if (found == words_.end()) return "";
  std::string word = std::move(*found);
  words_.erase(found);
  return word;
}

void Arguments::finish() const {
  if (!words_.empty()) throw Misuse("\"" + words_.front() + "\" is not understood here");
}

const Action* find_action(std::span<const Action> actions, std::string_view name) {
  const auto found =
      std::find_if(actions.begin(), actions.end(), [&](const Action& action) { return name == action.name; });
  return found == actions.end() ? nullptr : &*found;
}

}  // namespace kiln::command
