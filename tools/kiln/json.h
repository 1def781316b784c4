// tools/kiln/json.h -- JSON values for --json: made, never read.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kiln::command {

/// A value. Members of objects are printed in the order in which they were added.
class Json {
 public:
  using Member = std::pair<const char*, Json>;

  Json(bool value) : value_(value) {}
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Json(Number value) {
    if constexpr (std::signed_integral<Number>)
      value_ = std::int64_t{value};
    else
      value_ = std::uint64_t{value};
  }
  /// Names of files need not be UTF-8: what is none becomes U+FFFD.
  Json(std::string text) : value_(std::move(text)) {}
  Json(const char* text) : value_(std::string(text)) {}

  static Json array();
  static Json object(std::vector<Member> members = {});
  void push_back(Json item);
  void add(const char* name, Json value);

  /// Indented by two blanks a level, with a line end.
  std::string text() const;

 private:
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  void append_to(std::string& text, int level) const;

  std::variant<bool, std::int64_t, std::uint64_t, std::string, Array, Object> value_ = false;
};

}  // namespace kiln::command
