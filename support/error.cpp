// support/error.cpp -- the exception family: one immutable text shared by all copies, so that copying never throws.
#include <kiln/error.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace kiln {

struct Error::Text {
  std::atomic<long> references{1};
  char* characters() { return reinterpret_cast<char*>(this + 1); }
  static void drop(Text* text) noexcept {
    if (!text || text->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    text->~Text();
    std::free(text);
  }
};

namespace {

// A message that cannot be stored is replaced by this one: throwing an Error never ends in bad_alloc.
constexpr const char* no_memory_for_message = "kiln: an error occurred, and there was no memory for its message";

}  // namespace

Error::Error(const char* message) : text_(nullptr) {
  const std::size_t length = std::strlen(message);
  void* memory = std::malloc(sizeof(Text) + length + 1);
  if (!memory) return;
  text_ = new (memory) Text;
  std::memcpy(text_->characters(), message, length + 1);
}

Error::Error(const Error& other) noexcept : std::exception(other), text_(other.text_) {
  if (text_) text_->references.fetch_add(1, std::memory_order_relaxed);
}

Error& Error::operator=(const Error& other) noexcept {
  if (other.text_) other.text_->references.fetch_add(1, std::memory_order_relaxed);
  Text::drop(text_);
  text_ = other.text_;
  return *this;
}

Error::~Error() { Text::drop(text_); }

const char* Error::what() const noexcept { return text_ ? text_->characters() : no_memory_for_message; }

// Defined here so that each class has one type identity, in libkiln, for every user of the library.
ShapeError::~ShapeError() = default;
TypeError::~TypeError() = default;
CompileError::~CompileError() = default;
DeviceError::~DeviceError() = default;
OutOfMemory::~OutOfMemory() = default;
IoError::~IoError() = default;
InternalError::~InternalError() = default;

}  // namespace kiln
