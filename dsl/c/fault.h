// dsl/c/fault.h -- how functions of the C interface fail: statuses, the message of the thread, one guard around each.
#pragma once

#include <cstring>
#include <exception>
#include <string>

#include <kiln/kiln_c.h>

#include "support/check.h"

namespace kiln::dsl::c {

/// What has a status of its own beside the family of kiln::Error.
class Fault : public std::exception {
 public:
  Fault(kiln_status status, std::string message) : status_(status), message_(std::move(message)) {}
  kiln_status status() const noexcept { return status_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  kiln_status status_;
  std::string message_;
};

template <class... Args>
[[noreturn]] void fail_argument(fmt::format_string<Args...> format, Args&&... args) {
  throw Fault(KILN_ERROR_ARGUMENT, fmt::format(format, static_cast<Args&&>(args)...));
}

inline void require(const void* pointer, const char* name) {
  if (!pointer) [[unlikely]]
    fail_argument("{} is null", name);
}
/// A list of the caller's: there where it has items, and not of a number that nobody wrote. Before any item is read.
inline void require_list(const void* list, std::size_t count, std::size_t most, const char* name) {
  if (count > most) [[unlikely]]
    fail_argument("{} has {} items; at most {} are possible", name, count, most);
  if (count > 0) require(list, name);
}
/// Of one call that compiles ahead.
inline constexpr std::size_t most_archs = 256;
/// The size of a structure of the caller's: at least what the first version had, and not a number that nobody wrote.
inline void require_size(std::size_t size, std::size_t least, const char* name) {
  constexpr std::size_t most = 4096;
  if (size < least || size > most) [[unlikely]]
    fail_argument("{}->struct_size is {} and {} bytes are known: set it to sizeof *{}", name, size, least, name);
}
/// A structure that is read: members that this library does not know must be zero.
template <class S>
void require_known(const S* structure, const char* name) {
  require_size(structure->struct_size, sizeof(S), name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(structure);
  for (std::size_t i = sizeof(S); i < structure->struct_size; ++i)
    if (bytes[i] != 0) [[unlikely]]
      fail_argument(
          "{} has members beyond the {} bytes that are known here, and they are not zero: this library is older "
          "than the header",
          name, sizeof(S));
}
/// A structure that is written: members that this library does not know become zero.
template <class S>
void require_writable(S* structure, const char* name) {
  require(structure, name);
  require_size(structure->struct_size, sizeof(S), name);
  std::memset(reinterpret_cast<unsigned char*>(structure) + sizeof(S), 0, structure->struct_size - sizeof(S));
}
/// A member that is 0 or 1.
inline bool flag(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) [[unlikely]]
    fail_argument("{} is {}; it is 0 or 1", name, value);
  return value != 0;
}
inline void require_zero(std::int64_t value, const char* name) {
  if (value != 0) [[unlikely]]
    fail_argument("{} is {}; it is reserved and 0", name, value);
}
/// A name that goes into generated text and messages.
void require_name(const char* name, const char* what);

/// Keeps "function: message" for kiln_last_error(). Where there is no memory for it, as much as fits into a fixed room.
void set_last_error(const char* function, const char* message) noexcept;

/// A function of the host failed or threw on this thread; noted until the guard of the call asks.
void note_callback_failure(const char* what) noexcept;
/// What was noted since the last time, or null.
const char* take_callback_failure() noexcept;

/// The status of the exception that is being handled, its message kept.
kiln_status status_of_current_exception(const char* function) noexcept;

/// Runs `work`; whatever it throws becomes a status.
template <class Work>
kiln_status guarded(const char* function, Work&& work) noexcept {
  take_callback_failure();  // one that an earlier call survived is not this one's
  try {
    work();
    return KILN_OK;
  } catch (...) {
    return status_of_current_exception(function);
  }
}

}  // namespace kiln::dsl::c
