// kiln/detail/raw_arguments.h -- arguments, texts and launches of the user's own kernels, as the library sees them.
#pragma once

#include <initializer_list>

#include <kiln/array.h>
#include <kiln/inspect.h>

namespace kiln::detail {

/// A copy of `size` bytes and a zero, to be freed with free_text.
KILN_API char* copy_text(const char* text, std::size_t size);
KILN_API void free_text(char* text) noexcept;

template <class S>
concept string_like = requires(const S& s) {
  { s.data() } -> std::convertible_to<const char*>;
  s.size();
};

/// A text given by the user, kept.
class OwnedText {
 public:
  OwnedText() = default;
  OwnedText(const char* text) : OwnedText(text, __builtin_strlen(text)) {}
  template <string_like S>
  OwnedText(const S& text) : OwnedText(text.data(), text.size()) {}
  OwnedText(const char* text, std::size_t size) : text_(copy_text(text, size)) {}
  OwnedText(const OwnedText& other) : OwnedText(other.c_str()) {}
  OwnedText(OwnedText&& other) noexcept : text_(other.text_) { other.text_ = nullptr; }
  OwnedText& operator=(OwnedText other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~OwnedText() { free_text(text_); }
  const char* c_str() const { return text_ ? text_ : ""; }

 private:
  char* text_ = nullptr;
};

/// One argument of a raw kernel. `bytes` is the address of what the kernel's parameter holds: for an array, of the
/// handle's data pointer.
struct RawArgument {
  enum Kind : std::uint8_t { array, number, structure, address, null };
  const void* bytes = nullptr;
  const Handle* handle = nullptr;  ///< of arrays
  std::uint32_t size = sizeof(void*);
  Kind kind = array;
  DType type = DType::f32;  ///< of array elements and numbers
};

inline constexpr void* null_argument = nullptr;

/// Whether X is what kl::scalar<T>() returns: one number with its type.
template <class X>
inline constexpr bool is_strong_scalar = false;
template <DType T>
inline constexpr bool is_strong_scalar<Expression<Parameter<T, T>>> = true;

template <class A>
RawArgument raw_argument(const A& a) {
  if constexpr (is_strong_scalar<A>) {
    return {a.slots.items[0].words, nullptr, static_cast<std::uint32_t>(size_of(A::dtype)), RawArgument::number,
            A::dtype};
  } else if constexpr (role_of<A> == Role::array) {
    static_assert(
        requires { a.handle(); },
        "kiln: an expression is no argument of a raw kernel; evaluate it first: k(out, kl::eval(a + b))");
    if constexpr (requires { a.handle(); }) {
      return {&a.handle().data, &a.handle(), sizeof(void*), RawArgument::array, A::dtype};
    } else {
      return {};
    }
  } else if constexpr (role_of<A> == Role::baked) {
    return {&a.value, nullptr, sizeof a.value, RawArgument::number, A::dtype};
  } else if constexpr (std::is_null_pointer_v<A>) {
    return {&null_argument, nullptr, sizeof(void*), RawArgument::null};
  } else if constexpr (std::is_pointer_v<A>) {
    return {&a, nullptr, sizeof(void*), RawArgument::address};
  } else if constexpr (role_of<A> == Role::number) {
    static_assert(!std::is_same_v<A, long double>, "kiln: CUDA has no long double; pass a double");
    return {&a, nullptr, sizeof a, RawArgument::number, number_type<A>()};
  } else {
    static_assert(role_of<A> != Role::traced, "kiln: a raw kernel cannot be called inside a kl::jit lambda");
    constexpr bool is_container = requires { a.data(), a.size(); } && !requires { std::tuple_size<A>::value; };
    static_assert(!is_container,
                  "kiln: a container in host memory is no argument of a raw kernel; copy it to the device: "
                  "kl::from_host(values)");
    static_assert(std::is_trivially_copyable_v<A>,
                  "kiln: an argument of a raw kernel is an array, a view, a number, nullptr or a trivially copyable "
                  "structure");
    return {&a, nullptr, sizeof a, RawArgument::structure};
  }
}

struct RawText {
  const char* name;  ///< of a header, or what stands before an option's value
  const char* text;
};
/// What kl::raw_kernel was given; nothing is kept.
struct RawDefinition {
  const char* name = nullptr;
  const char* source = nullptr;
  const RawText* options = nullptr;  ///< for the compiler, in order
  unsigned option_count = 0;
  const RawText* headers = nullptr;
  unsigned header_count = 0;
  CodeOptions code = {};
  Where where = {};
};

/// A raw kernel and what was compiled of it. Counts its owners.
struct RawProgram;
KILN_API RawProgram* make_raw(const RawDefinition& definition);
KILN_API void retain(RawProgram* program) noexcept;
KILN_API void release(RawProgram* program) noexcept;
/// `over`: so many threads at least, in blocks of `launch.block` or of the best size.
inline constexpr std::int64_t no_over = INT64_MIN;  ///< `launch.grid` says how many blocks run
KILN_API void launch_raw(RawProgram& program, const LaunchControl& launch, std::int64_t over,
                         const RawArgument* arguments, unsigned count);
KILN_API Inspection* inspect_raw(RawProgram& program, const LaunchControl& launch, const char* arch);
KILN_API void compile_raw(RawProgram& program, const char* arch, Where where);
KILN_API Specializations* specializations(RawProgram& program);

}  // namespace kiln::detail
