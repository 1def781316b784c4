// dsl/c/fault.cpp -- the message of the thread, and which status an exception is.
#include "dsl/c/fault.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "dsl/c/wording.h"
#include "support/utf8.h"

namespace kiln::dsl::c {
namespace {

/// The message of one thread. malloc, not new: there may be no memory when it is set.
class LastError {
 public:
  LastError() = default;
  LastError(const LastError&) = delete;
  LastError& operator=(const LastError&) = delete;
  ~LastError() { std::free(heap_); }

  const char* text() const { return heap_ ? heap_ : room_; }
  void set(const char* function, const char* message) {
    const std::size_t first = std::strlen(function), second = std::strlen(message);
    char* const fresh = static_cast<char*>(std::malloc(first + second + 3));
    std::free(std::exchange(heap_, fresh));
    char* const to = fresh ? fresh : room_;
    const std::size_t capacity = fresh ? first + second + 3 : sizeof room_;
    std::size_t size = 0;
    for (const auto& [part, length] : {std::pair(function, first), {": ", std::size_t{2}}, {message, second}}) {
      const std::size_t fits = length < capacity - 1 - size ? length : capacity - 1 - size;
      std::memcpy(to + size, part, fits);
      size += fits;
    }
    to[size] = 0;
    make_utf8(to, size);
  }

 private:
  /// Names of files and texts of the host come in here as they are.
  static void make_utf8(char* text, std::size_t size) {
    for (std::size_t at = 0; at < size;) {
      const std::size_t bytes = first_utf8_character({text + at, size - at}).bytes;
      if (bytes == 0) text[at] = '?';
      at += bytes == 0 ? 1 : bytes;
    }
  }
  char* heap_ = nullptr;
  char room_[192] = "";
};

thread_local LastError last_error;
thread_local constinit const char* callback_failure = nullptr;

}  // namespace

void set_last_error(const char* function, const char* message) noexcept { last_error.set(function, message); }

void require_name(const char* name, const char* what) {
  require(name, what);
  for (std::string_view rest(name); !rest.empty();) {
    const Utf8Character character = first_utf8_character(rest);
    if (character.bytes == 0) fail_argument("{} is not UTF-8 at byte {}", what, rest.data() - name);
    if (is_control_character(character.code) || character.code == '"' || character.code == '\\')
      fail_argument("{} holds a quote, a backslash or a control character at byte {}", what, rest.data() - name);
    rest.remove_prefix(character.bytes);
  }
}

void note_callback_failure(const char* what) noexcept { callback_failure = what; }
const char* take_callback_failure() noexcept { return std::exchange(callback_failure, nullptr); }

kiln_status status_of_current_exception(const char* function) noexcept {
  const auto keep = [function](kiln_status status, const char* given) {
    std::string worded;
    try {
      worded = neutral_wording(given);
    } catch (const std::bad_alloc&) {
      worded.clear();  // then as it is
    }
    const char* const message = worded.empty() ? given : worded.c_str();
    const char* const callback = take_callback_failure();
    if (!callback) {
      set_last_error(function, message);
      return status;
    }
    char text[512];
    *fmt::format_to_n(text, sizeof text - 1, "{}: {}", callback, message).out = 0;
    set_last_error(function, text);
    return KILN_ERROR_CALLBACK;
  };
  try {
    throw;
  } catch (const Fault& error) {
    return keep(error.status(), error.what());
  } catch (const ShapeError& error) {
    return keep(KILN_ERROR_SHAPE, error.what());
  } catch (const TypeError& error) {
    return keep(KILN_ERROR_TYPE, error.what());
  } catch (const CompileError& error) {
    return keep(KILN_ERROR_COMPILE, error.what());
  } catch (const DeviceError& error) {
    return keep(KILN_ERROR_DEVICE, error.what());
  } catch (const OutOfMemory& error) {
    return keep(KILN_ERROR_OUT_OF_MEMORY, error.what());
  } catch (const IoError& error) {
    return keep(KILN_ERROR_IO, error.what());
  } catch (const std::bad_alloc&) {
    return keep(KILN_ERROR_OUT_OF_MEMORY, "no memory on the host; nothing was changed");
  } catch (const std::exception& error) {
    return keep(KILN_ERROR_INTERNAL, error.what());
  } catch (...) {
    return keep(KILN_ERROR_INTERNAL, "an exception of unknown type");
  }
}

}  // namespace kiln::dsl::c

extern "C" {

const char* kiln_last_error(void) noexcept { return kiln::dsl::c::last_error.text(); }

const char* kiln_status_name(kiln_status status) noexcept {
  std::int32_t number = 0;  // which may be none of the enumeration: not a value that C++ may load
  static_assert(sizeof status == sizeof number);
  std::memcpy(&number, &status, sizeof number);
  switch (number) {
#define KILN_STATUS(name) \
  case name:              \
    return #name;
    KILN_STATUS(KILN_OK)
    KILN_STATUS(KILN_ERROR_ARGUMENT)
    KILN_STATUS(KILN_ERROR_SHAPE)
    KILN_STATUS(KILN_ERROR_TYPE)
    KILN_STATUS(KILN_ERROR_COMPILE)
    KILN_STATUS(KILN_ERROR_DEVICE)
    KILN_STATUS(KILN_ERROR_OUT_OF_MEMORY)
    KILN_STATUS(KILN_ERROR_IO)
    KILN_STATUS(KILN_ERROR_INTERNAL)
    KILN_STATUS(KILN_ERROR_CALLBACK)
    KILN_STATUS(KILN_ERROR_BUFFER)
    KILN_STATUS(KILN_ERROR_PARSE)
#undef KILN_STATUS
    default:
      return "an unknown status";
  }
}

}  // extern "C"
