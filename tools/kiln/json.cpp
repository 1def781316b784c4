// tools/kiln/json.cpp -- prints JSON values.
#include "tools/kiln/json.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/utf8.h"

namespace kiln::command {
namespace {

void append_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const Utf8Character character = first_utf8_character(text);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    if (!character.bytes)
      to += "\ufffd";
    else if (character.code == '"' || character.code == '\\')
      to += fmt::format("\\{}", text.front());
    else if (character.code == '\n')
      to += "\\n";
    else if (character.code == '\t')
      to += "\\t";
    else if (character.code < 0x20)
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(character.code));
    else
      to += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  to += '"';
}

void append_line(std::string& to, int level) { to += fmt::format("\n{:{}}", "", 2 * level); }

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

Json Json::array() {
  Json json(false);
  json.value_ = Array();
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json(false);
  json.value_ = std::move(members);
  return json;
}

void Json::push_back(Json item) { std::get<Array>(value_).push_back(std::move(item)); }

void Json::add(const char* name, Json value) { std::get<Object>(value_).emplace_back(name, std::move(value)); }

std::string Json::text() const {
  std::string text;
  append_to(text, 0);
  return text + "\n";
}

void Json::append_to(std::string& text, int level) const {
  const auto items = [&](char open, char close, const auto& list, const auto& append_item) {
    text += open;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i) text += ',';
      append_line(text, level + 1);
      append_item(list[i]);
    }
    if (!list.empty()) append_line(text, level);
    text += close;
  };
  std::visit(Overloaded{[&](bool value) { text += value ? "true" : "false"; },
                        [&](std::int64_t value) { text += fmt::format("{}", value); },
                        [&](std::uint64_t value) { text += fmt::format("{}", value); },
                        [&](const std::string& value) { append_string(text, value); },
                        [&](const Array& value) {
                          items('[', ']', value, [&](const Json& item) { item.append_to(text, level + 1); });
                        },
                        [&](const Object& value) {
                          items('{', '}', value, [&](const Member& member) {
                            append_string(text, member.first);
                            text += ": ";
                            member.second.append_to(text, level + 1);
                          });
                        }},
             value_);
}

}  // namespace kiln::command
