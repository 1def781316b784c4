// kiln/error.h -- the exception family. A message says what was asked, where in the user's code, and what to do.
#pragma once

#include <exception>

#include <kiln/dtype.h>

namespace kiln {

/// Base of everything kiln throws. After any error the library and its caches stay usable.
class KILN_API Error : public std::exception {
 public:
  explicit Error(const char* message);
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;
  const char* what() const noexcept override;

 private:
  struct Text;  // shared, immutable
  Text* text_;
};

#define KILN_ERROR_CLASS(name)         \
  class KILN_API name : public Error { \
   public:                             \
    using Error::Error;                \
    ~name() override;                  \
  }

/// Shapes, axes, ranks or sizes that do not fit.
KILN_ERROR_CLASS(ShapeError);
/// Element types or scalar values that an operation does not accept.
KILN_ERROR_CLASS(TypeError);
/// NVRTC or LLVM rejected a kernel; carries the numbered source excerpt and the compiler's log.
KILN_ERROR_CLASS(CompileError);
/// A device is missing, mixed up, or reported an error.
KILN_ERROR_CLASS(DeviceError);
/// Memory ran out after the pool was trimmed; names the sizes.
KILN_ERROR_CLASS(OutOfMemory);
/// A file could not be read or written.
KILN_ERROR_CLASS(IoError);
/// A defect in kiln itself: please report it with the message.
KILN_ERROR_CLASS(InternalError);

#undef KILN_ERROR_CLASS

}  // namespace kiln
