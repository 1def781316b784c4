// support/check.h -- how the layers fail: user errors name the user's mistake, internal checks name ours.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <kiln/error.h>

namespace kiln {

/// Throws `E` (a kiln::Error) with a formatted message.
template <class E, class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, static_cast<Args&&>(args)...).c_str());
}

[[noreturn]] void internal_failure(const char* condition, const char* file, int line, std::string_view message);

/// Checks a fact that only a defect in kiln can break. The message is formatted only on failure.
#define KILN_INTERNAL_CHECK(condition, ...)                                                    \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::kiln::internal_failure(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
  } while (false)

}  // namespace kiln
