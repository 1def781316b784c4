// kiln/user_function.h -- kl::function: the user's own functions inside expressions, from CUDA text or from a lambda.
//
//   auto smooth = kl::function<float(float, float, float)>("smooth", {"a", "b", "x"},
//       "float t = fminf(fmaxf((x - a) / (b - a), 0.f), 1.f); return t * t * (3.f - 2.f * t);",
//       [](float a, float b, float x) { ... });
//   y = 2 * smooth(0.f, 1.f, x);
//
//   auto norm = kl::function("norm", [](auto x, auto y) { return kl::sqrt(x * x + y * y); });   // on every device
//
//   operands  arrays, views and expressions, which broadcast; C++ numbers, which are run-time parameters; in kl::jit
//             traced values. Each is converted to its parameter's type; a conversion to a lesser kind (float to
//             integer, complex to real, number to bool) does not compile: write kl::cast.
//   result    an expression of the function's result type: nothing runs before it is evaluated, and it fuses like any
//             built-in function. It is computed once per element, however often the value is used.
//   types     bool, the integers, float, double and std::complex of these are what text and host version see (in CUDA
//             bool, i8 to u64 as C++ integers of that size, float, double, float2, double2). kl::half and kl::bfloat16
//             are storage types: both see float, and a result is rounded where it is stored.
//   text      statements that return the result, or one expression; CUDA C++17 without includes. What it declares
//             outside of the function (helpers, constants) goes to .preamble(...). The ends of arrays are padded:
//             it may run on any values, whose results are dropped, and must come to an end for all of them.
//   errors    TypeError for names that are no identifiers and text that returns nothing; CompileError, at the first use
//             on a GPU, with the faulty line of the text and the compiler's log; TypeError on the CPU device where no
//             host version was given.
//   host      called for each element by the threads of the CPU device at the same time; it must be callable as const,
//             safe for that, and must not throw. It is copied and lives as long as a call may need it.
#pragma once

#include <kiln/detail/jit_arguments.h>

namespace kiln {
namespace detail {

/// What a host version sees of a parameter or result of type T.
template <class T>
using HostOf = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

/// Text as const char*, or as any string.
struct TextArgument {
  const char* text;
  TextArgument(const char* t) : text(t) {}
  template <class S>
    requires(requires(const S& s) { s.c_str(); })
  TextArgument(const S& s) : text(s.c_str()) {}
};

/// Calls a host version for `count` elements: see FunctionText.
template <class H, class Indices, class R, class... P>
struct HostVersion;
template <class H, std::size_t... I, class R, class... P>
struct HostVersion<H, std::index_sequence<I...>, R, P...> {
  static void run(const void* context, unsigned char* block, std::int64_t stride, std::int64_t count) noexcept {
    const H& function = *static_cast<const H*>(context);
    loop(function, reinterpret_cast<HostOf<R>*>(block), count,
         reinterpret_cast<const HostOf<P>*>(block + (static_cast<std::int64_t>(I) + 1) * stride)...);
  }
  static void loop(const H& function, HostOf<R>* __restrict results, std::int64_t count,
                   const HostOf<P>* __restrict... arguments) noexcept {
    for (std::int64_t i = 0; i < count; ++i) results[i] = static_cast<HostOf<R>>(function(arguments[i]...));
  }
  static void destroy(const void* context) { delete static_cast<const H*>(context); }
};

/// Type P of a parameter takes operand A.
template <class P, class A>
constexpr bool require_argument() {
  static_assert(role_of<A> != Role::none,
                "kiln: an argument of a kl::function is not an array, an expression, a traced value or a C++ number");
  if constexpr (role_of<A> != Role::none) {
    static_assert(kind_of(Operand<A>::type.type) <= kind_of(dtype_of<P>),
                  "kiln: an argument of a kl::function has more than its parameter's type holds (floating to integer, "
                  "complex to real, a number to bool); convert it with kl::cast, kl::real or a comparison");
  }
  return true;
}
template <std::size_t Given, std::size_t Wanted>
constexpr void require_argument_count() {
  static_assert(Given == Wanted, "kiln: a kl::function is called with as many arguments as it has parameters");
}

template <class A>
OperandSlots operand_slots(const A& a, Slot& number) {
  if constexpr (is_number<A>) {
    number = number_slot(a);
    return {&number, take_slots(1, false)};
  } else {
    return {&a, take_slots(sizeof(A) / sizeof(Slot), false)};
  }
}

/// The call of a function as an expression: operands, then the slot that names it.
template <class S, class... A>
Expression<S> compose_call(Where where, const Slot& function, const A&... arguments) {
  Slot numbers[sizeof...(A)];
  unsigned i = 0;
  const OperandSlots operands[] = {operand_slots(arguments, numbers[i++])..., {&function, take_slots(1, false)}};
  return Expression<S>(OfSlots{}, where, operands, static_cast<unsigned>(sizeof...(A) + 1));
}

template <class... A>
inline constexpr bool has_traced = ((role_of<A> == Role::traced) || ...);
template <class... A>
constexpr void require_no_array_in_trace() {
  static_assert(!has_traced<A...> || ((role_of<A> != Role::array) && ...),
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
}

}  // namespace detail

/// A function of CUDA text: see the top of this file. A regular value; copies share the function.
template <class Signature>
class Function;

template <class R, class... P>
class Function<R(P...)> {
 public:
  explicit Function(detail::Slot owned) : slots_(detail::take_slots(1, true), &owned) {}

  /// The same function, with declarations before it in its CUDA source: helpers, constants, types. They share a
  /// namespace with this function alone, so that functions with different helpers of one name may meet.
  Function preamble(detail::TextArgument text) const {
    return Function(detail::with_preamble(slots_.items[0], text.text));
  }

#define KILN_CALL(count, types, parameters, names)                                \
  template <types>                                                                \
    requires(sizeof...(P) == count)                                               \
  auto operator()(parameters, detail::Where w = detail::Where::current()) const { \
    return call(w, names);                                                        \
  }
#define KILN_LIST(...) __VA_ARGS__
  KILN_CALL(1, KILN_LIST(class A), KILN_LIST(const A& a), KILN_LIST(a))
  KILN_CALL(2, KILN_LIST(class A, class B), KILN_LIST(const A& a, const B& b), KILN_LIST(a, b))
  KILN_CALL(3, KILN_LIST(class A, class B, class C), KILN_LIST(const A& a, const B& b, const C& c), KILN_LIST(a, b, c))
  KILN_CALL(4, KILN_LIST(class A, class B, class C, class D), KILN_LIST(const A& a, const B& b, const C& c, const D& d),
            KILN_LIST(a, b, c, d))
  KILN_CALL(5, KILN_LIST(class A, class B, class C, class D, class E),
            KILN_LIST(const A& a, const B& b, const C& c, const D& d, const E& e), KILN_LIST(a, b, c, d, e))
  KILN_CALL(6, KILN_LIST(class A, class B, class C, class D, class E, class F),
            KILN_LIST(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f),
            KILN_LIST(a, b, c, d, e, f))
#undef KILN_CALL
#undef KILN_LIST
  template <class... A>
    requires(sizeof...(A) != sizeof...(P) || sizeof...(P) > 6)
  auto operator()(const A&... arguments) const {
    detail::require_argument_count<sizeof...(A), sizeof...(P)>();
    if constexpr (sizeof...(A) == sizeof...(P)) return call({}, arguments...);
  }

 private:
  template <class... A>
  auto call(detail::Where where, const A&... arguments) const {
    constexpr bool fits = (detail::require_argument<P, A>() && ...);
    static_assert(fits);
    detail::require_no_array_in_trace<A...>();
    if constexpr (detail::has_traced<A...>) {
      detail::Recorder* recorder = nullptr;
      ((recorder = detail::common_recorder(recorder, detail::recorder_of(arguments), where)), ...);
      const detail::NodeId nodes[] = {detail::node_as(*recorder, arguments, compute_type(dtype_of<P>), where)...};
      return Sym<R>(*recorder, detail::record_call(*recorder, slots_.items[0], nodes, sizeof...(A), where));
    } else {
      using S = detail::Called<dtype_of<R>, false,
                               typename detail::Operand<A>::template Structure<compute_type(dtype_of<P>)>...>;
      return detail::compose_call<S>(where, slots_.items[0], arguments...);
    }
  }

  detail::Slots<1> slots_;
};

namespace detail {

template <class Signature>
struct FunctionMaker {
  static constexpr bool is_function = false, has_numbers = true;
  static constexpr std::size_t count = 0;
};
template <class R, class... P>
struct FunctionMaker<R(P...)> {
  static constexpr bool is_function = true, has_numbers = number<R> && (number<P> && ...);
  static constexpr std::size_t count = sizeof...(P);
  static FunctionText describe(const char* name, const char* const* names, const char* text) {
    static constexpr DType types[] = {dtype_of<P>...};
    return {.name = name,
            .parameter_names = names,
            .parameters = types,
            .count = count,
            .result = dtype_of<R>,
            .text = text};
  }
  template <class H>
  static void add_host(FunctionText& function, const H& host) {
    static_assert(std::is_invocable_r_v<HostOf<R>, const H&, HostOf<P>...>,
                  "kiln: the host version of a kl::function must be callable as const with its parameters (float for "
                  "kl::half and kl::bfloat16) and return what converts to its result");
    if constexpr (std::is_invocable_r_v<HostOf<R>, const H&, HostOf<P>...>) {
      using Version = HostVersion<H, std::index_sequence_for<P...>, R, P...>;
      function.thunk = &Version::run;
      if constexpr (!std::is_empty_v<H>) {
        function.context = new H(host);
        function.destroy = &Version::destroy;
      }
    }
  }
};

template <class Signature, std::size_t Names>
constexpr bool require_function() {
  using Maker = FunctionMaker<Signature>;
  constexpr bool has_names = !Maker::is_function || Maker::count == Names;
  static_assert(Maker::is_function, "kiln: kl::function<R(A, B)>: write the types like a C++ function's");
  static_assert(Maker::has_numbers,
                "kiln: parameters and result of a kl::function are numbers: bool, integers, kl::half, kl::bfloat16, "
                "float, double or std::complex, by value");
  static_assert(has_names, "kiln: kl::function needs one name for each parameter");
  static_assert(Names <= 8, "kiln: a kl::function has one to eight parameters");
  return Maker::is_function && Maker::has_numbers && has_names && Names <= 8;
}

}  // namespace detail

/// Makes a function of CUDA text with a host version for the CPU device: see the top of this file.
template <class Signature, std::size_t N, class H>
auto function(const char* name, const char* const (&parameters)[N], detail::TextArgument text, const H& host,
              detail::Where w = detail::Where::current()) {
  if constexpr (detail::require_function<Signature, N>()) {
    using Maker = detail::FunctionMaker<Signature>;
    detail::FunctionText description = Maker::describe(name, parameters, text.text);
    Maker::template add_host<std::decay_t<H>>(description, host);
    return Function<Signature>(detail::make_function(description, w));
  }
}
/// The same without one: for CUDA devices only.
template <class Signature, std::size_t N>
auto function(const char* name, const char* const (&parameters)[N], detail::TextArgument text,
              detail::Where w = detail::Where::current()) {
  if constexpr (detail::require_function<Signature, N>()) {
    using Maker = detail::FunctionMaker<Signature>;
    return Function<Signature>(detail::make_function(Maker::describe(name, parameters, text.text), w));
  }
}

namespace detail {

/// A call of F with operands A where it is not traced at once: the library traces it when the expression is evaluated.
template <class F, class Indices, class... A>
struct DeferredCall;
template <class F, std::size_t... I, class... A>
struct DeferredCall<F, std::index_sequence<I...>, A...> {
  template <class X>
  static auto received(Recorder& recorder, const TracedArgument& traced) {
    if constexpr (role_of<X> == Role::number) {
      return WeakSym<NumberOf<X>>::argument(recorder, traced.slot);
    } else if constexpr (role_of<X> == Role::baked) {
      return WeakSym<typename ElementOf<X::dtype>::type>(recorder, traced.node);
    } else {
      return Sym<typename ElementOf<Operand<X>::type.type>::type>(recorder, traced.node);
    }
  }
  using Result = decltype(std::declval<const F&>()(received<A>(std::declval<Recorder&>(), TracedArgument{})...));
  static_assert(role_of<Result> == Role::traced, "kiln: the lambda of kl::function must return one traced value");

  static void trace(Recorder& recorder, const void*, const TracedArgument* traced, NodeId* outputs) {
    outputs[0] = F{}(received<A>(recorder, traced[I])...).node_as(Result::dtype, {});
  }
  template <class X>
  using StructureOf = std::conditional_t<role_of<X> == Role::number, Argument<Operand<X>::type.type>,
                                         typename Operand<X>::template Structure<Operand<X>::type.type>>;
  using Structure = Called<Result::dtype, true, StructureOf<A>...>;
  static Slot slot() {
    const FunctionTrace function = &trace;
    return {nullptr, {reinterpret_cast<std::uintptr_t>(function), 0}};
  }
};

}  // namespace detail

/// A lambda as a function inside expressions: kl::function("smooth", [](auto a, auto b, auto x) { ... }).
template <class F>
class LambdaFunction {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "kiln: the lambda of kl::function must not capture anything; pass what it needs as arguments");

 public:
  template <class... A>
  auto operator()(const A&... arguments) const {
    static_assert(((detail::role_of<A> != detail::Role::none) && ...),
                  "kiln: an argument of a kl::function is not an array, an expression, a traced value or a C++ number");
    static_assert(std::is_invocable_v<const F&, typename Traced<A>::type...>,
                  "kiln: the lambda of kl::function does not take these arguments; declare each parameter auto");
    detail::require_no_array_in_trace<A...>();
    if constexpr (detail::has_traced<A...>) {
      return F{}(detail::inlined(arguments)...);
    } else {
      using Call = detail::DeferredCall<F, std::index_sequence_for<A...>, A...>;
      return detail::compose_call<typename Call::Structure>({}, Call::slot(), arguments...);
    }
  }

 private:
  template <class X>
  struct Traced {
    using type = Sym<typename detail::ElementOf<detail::Operand<X>::type.type>::type>;
  };
};

/// A function of a lambda, on every device: see the top of this file. The lambda may do what lambdas of kl::jit may; it
/// is traced where an expression with a call of it is evaluated first. The name is for the reader.
template <class F>
  requires(std::is_class_v<F>)
constexpr LambdaFunction<F> function(const char*, F) {
  return {};
}

}  // namespace kiln
