// kiln/detail/jit_arguments.h -- the arguments and results of compiled functions: what the lambda sees of them.
#pragma once

#include <kiln/eval.h>
#include <kiln/options.h>

namespace kiln {

template <class T, int Rank>
struct Sig;

namespace detail {

/// Up to 32 architecture names: more than there are.
class Archs {
 public:
  Archs() = default;
  Archs(std::initializer_list<const char*> names) {
    for (const char* n : names) {
      if (count_ < 32) names_[count_++] = n;
    }
  }
  bool empty() const { return count_ == 0; }
  const char* const* begin() const { return names_; }
  const char* const* end() const { return names_ + count_; }

 private:
  const char* names_[32] = {};
  unsigned count_ = 0;
};

/// An architecture, and where it was named.
struct ArchName {
  const char* name;
  Where where;
  ArchName(const char* n, const char* f = __builtin_FILE(), unsigned l = __builtin_LINE()) : name(n), where{f, l} {}
  ArchName(const char* n, Where w) : name(n), where(w) {}
};

/// Tells on stderr how far f.compile has come.
class CompileProgress {
 public:
  CompileProgress(const char* name, const Archs& archs)
      : bar_(begin_compile_progress(
            name, compiled_variants * (archs.empty() ? 1u : static_cast<unsigned>(archs.end() - archs.begin())))) {}
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;
  ~CompileProgress() { end_compile_progress(bar_); }
  void advance(const char* arch) const { advance_compile_progress(bar_, arch); }

  static constexpr unsigned compiled_variants = 2;  ///< of each signature: aligned sizes and others

 private:
  void* bar_;
};

// ------------------------------------------------------------------ what the lambda receives
/// A number offered to a kl::Const<T> parameter; converts to nothing else, and throws TypeError where T cannot hold it.
template <class A>
struct ConstArgument {
  Recorder* recorder;
  A value;
  template <class T>
  operator Const<T>() const {
    if constexpr (!std::is_same_v<A, T>) check_constant(*recorder, scalar_argument(value), dtype_of<T>);
    return Const<T>(static_cast<T>(value));
  }
};

// Marked noinline, as what else runs once for a function or costs next to nothing: code in each function costs more.
template <class A, bool IsConst>
[[gnu::noinline, gnu::cold]] auto traced_argument(Recorder& recorder, const TracedArgument& traced, const void* value) {
  if constexpr (role_of<A> == Role::baked) {
    return *static_cast<const A*>(value);
  } else if constexpr (role_of<A> == Role::number) {
    if constexpr (IsConst) {
      return ConstArgument<A>{&recorder, *static_cast<const A*>(value)};
    } else {
      return WeakSym<NumberOf<A>>::argument(recorder, traced.slot);
    }
  } else {
    return Sym<typename A::value_type>(recorder, traced.node);
  }
}
template <class A, bool IsConst>
using ReceivedAs = decltype(traced_argument<A, IsConst>(std::declval<Recorder&>(), TracedArgument{}, nullptr));

/// The lambda beside a function that takes anything. Where the lambda could be called too, the call is ambiguous: the
/// other one is better in its object, which need not be const, and worse in every argument. So whether the lambda could
/// be called is known without instantiating it.
template <class F>
struct Contest : F {
  using F::operator();
  void operator()(...);
};
template <class F, class... X>
concept refuses = !std::is_class_v<F> || std::is_final_v<F> || requires(Contest<F>& f) { f(std::declval<X>()...); };
template <class F, class... X>
concept accepts = requires(const F& f) { f(std::declval<X>()...); };

/// Arguments that a call replaces by traced ones.
template <class... A>
inline constexpr bool traced_here = ((role_of<A> != Role::none && role_of<A> != Role::traced) && ...);

/// Something inside the lambda is wrong, and was reported; nothing more is to be said.
template <class F, class... A>
concept fails_inside = traced_here<A...> && std::is_class_v<F> && !std::is_final_v<F> &&
                       !accepts<F, ReceivedAs<A, false>...> && !refuses<F, ReceivedAs<A, false>...>;

/// The arguments that the lambda declares as kl::Const.
template <std::size_t N>
struct Constants {
  bool refused = false;  ///< it cannot be called
  bool is_const[N + 1] = {};
};
/// An `auto` parameter never receives a constant: only one that refuses a variable does.
template <class F, std::size_t J, class Argument, std::size_t... I, class... A>
constexpr bool is_constant(std::index_sequence<I...>, const std::type_identity<A>*...) {
  if constexpr (role_of<Argument> == Role::number) {
    return refuses<F, ReceivedAs<A, I != J && role_of<A> == Role::number>...>;
  } else {
    return false;
  }
}
template <class F, std::size_t... I, class... A>
constexpr auto constants_of(std::index_sequence<I...> indices, const std::type_identity<A>*... types) {
  Constants<sizeof...(A)> found;
  if constexpr (accepts<F, ReceivedAs<A, false>...>) {
    return found;
  } else if constexpr (refuses<F, ReceivedAs<A, role_of<A> == Role::number>...>) {
    found.refused = true;
    return found;
  } else {
    ((found.is_const[I] = is_constant<F, I, A>(indices, types...)), ...);
    return found;
  }
}

/// An argument of a compiled function that is called inside another one: numbers become constants there.
template <class A>
auto inlined(const A& a) {
  static_assert(role_of<A> == Role::traced || role_of<A> == Role::number || role_of<A> == Role::baked,
                "kiln: an array inside a kl::jit lambda; pass arrays to the compiled function as arguments");
  if constexpr (role_of<A> == Role::number) {
    return Const<NumberOf<A>>(a);
  } else {
    return a;
  }
}

// ------------------------------------------------------------------ what the library receives
template <Instruction::Kind K, DType Source>
inline constexpr Instruction number_code[1] = {{.kind = K, .type = Source, .source = Source}};

/// Argument `A` as flat data; `slot` is room for a number.
template <class A, bool IsConst>
[[gnu::noinline]] Parts argument_parts(const A& a, Slot& slot) {
  if constexpr (requires { a.parts(); }) {
    return a.parts();
  } else if constexpr (Operand<A>::role == Role::array) {
    // A Handle is a slot, bit for bit.
    return {code_of<Input<A::dtype>>.items, reinterpret_cast<const Slot*>(&a.handle()), 1};
  } else {
    constexpr Instruction::Kind kind =
        IsConst || Operand<A>::role == Role::baked ? Instruction::constant : Instruction::argument;
    slot = number_slot(a);
    return {number_code<kind, Operand<A>::type.type>, &slot, 1};
  }
}

/// A stand-in argument of the given signature, for f.compile<...>.
template <class S>
struct SignatureArgument {
  static_assert(number<S>, "kiln: f.compile takes kl::Sig<T, rank> for arrays and the C++ type of numbers");
  static S make(bool, std::size_t) { return S{}; }
};
template <class T, int Rank>
struct SignatureArgument<Sig<T, Rank>> {
  static_assert(Rank >= 0 && Rank <= max_rank, "kiln: arrays have 0 to 8 axes");
  /// Nothing lies at the addresses, which are aligned and distinct as those of new arrays are.
  static View<const T> make(bool odd, std::size_t position) {
    std::int64_t shape[max_rank];
    for (std::int64_t& extent : shape) extent = odd ? 5 : 4;
    if constexpr (Rank > 0) shape[Rank - 1] = odd ? 1025 : 1024;
    void* const nowhere = reinterpret_cast<void*>((position + 1) << 40);
    const Device cpu = Device::cpu();
    return View<const T>(borrow(dtype_of<T>, nowhere, shape, Rank, nullptr, cpu.kind_number(), cpu.index()));
  }
};

// ------------------------------------------------------------------ results
/// What a call that was refused returns, so that the refusal is the only error.
struct Refused {};
struct RefusedOutputs {
  using Arrays = Refused;
  static constexpr unsigned count = 1;
  template <class... X>
  static constexpr bool convertible() {
    return true;
  }
  template <class V>
  static void store(const V&, NodeId*) {}
  static void targets(Refused&, Target*) {}
};

template <class R>
struct Outputs : RefusedOutputs {
  static_assert(!std::is_void_v<R>, "kiln: the lambda of kl::jit returns nothing; return the value to store");
  static_assert(std::is_void_v<R> || no_dtype<R>::value,
                "kiln: the lambda of kl::jit must return a traced value or a std::tuple of traced values");
};
template <>
struct Outputs<Refused> : RefusedOutputs {};
template <class S>
  requires(role_of<S> == Role::traced)
struct Outputs<S> {
  using Arrays = Array<typename S::value_type>;
  template <class... X>
  static constexpr bool convertible() {
    require_count<sizeof...(X), 1>();
    (require_convertible<S::dtype, X::dtype>(), ...);
    return true;
  }
  template <std::size_t N, std::size_t M>
  static constexpr void require_count() {
    static_assert(N == M, "kiln: f.into(...) needs one destination per value that the lambda returns");
  }
  static constexpr unsigned count = 1;
  static void store(const S& s, NodeId* nodes) { nodes[0] = s.node_as(S::dtype, Where{}); }
  static void targets(Arrays& a, Target* to) { to[0] = a.target(); }
};
template <template <class...> class Tuple, class... S>
  requires(sizeof...(S) > 0 && ((role_of<S> == Role::traced) && ...))
struct Outputs<Tuple<S...>> {
  using Arrays = Tuple<Array<typename S::value_type>...>;
  template <class... X>
  static constexpr bool convertible() {
    static_assert(sizeof...(X) == sizeof...(S),
                  "kiln: f.into(...) needs one destination per value that the lambda returns");
    (require_convertible<S::dtype, X::dtype>(), ...);
    return true;
  }
  static constexpr unsigned count = sizeof...(S);
  static void store(const Tuple<S...>& values, NodeId* nodes) { store(values, nodes, std::index_sequence_for<S...>{}); }
  static void targets(Arrays& arrays, Target* to) { targets(arrays, to, std::index_sequence_for<S...>{}); }

 private:
  template <std::size_t... I>
  static void store(const Tuple<S...>& values, NodeId* nodes, std::index_sequence<I...>) {
    ((nodes[I] = get<I>(values).node_as(S::dtype, Where{})), ...);
  }
  template <std::size_t... I>
  static void targets(Arrays& arrays, Target* to, std::index_sequence<I...>) {
    ((to[I] = get<I>(arrays).target()), ...);
  }
};

// ------------------------------------------------------------------ calls
/// What is done with a call of a traced function.
struct Request {
  enum Kind : std::uint8_t { run, precompile, inspect };
  Request(const LaunchControl* control, Where place) : launch(control), where(place) {}
  Request(Kind what, const char* for_arch, Where place) : kind(what), arch(for_arch), where(place) {}

  Kind kind = run;
  const LaunchControl* launch = nullptr;
  const char* arch = nullptr;        ///< of precompile and inspect
  Where where;                       ///< where it is known
  Inspection* inspection = nullptr;  ///< the result of inspect
};
[[gnu::noinline]] inline void perform(Site& site, const Evaluation& e, Request& request) {
  switch (request.kind) {
    case Request::run:
      return evaluate(site, e);
    case Request::precompile:
      return precompile(site, e, request.arch);
    case Request::inspect:
      request.inspection = inspect(site, e, request.arch);
  }
}

/// What a call is traced for: arrays and views of one element type are alike, expressions differ by structure.
template <class A>
struct KeyOf {
  using type = NumberOf<A>;
};
template <array_operand A>
struct KeyOf<A> {
  using type = typename Operand<A>::template Structure<Operand<A>::type.type>;
};

/// The site of a closure without captures. Its address tells apart the argument types that share the site of another.
template <class F, class... Keys>
inline constinit Site function_site{};

template <class F, class Indices, class... A>
struct Tracer;

/// Calls of F with arguments of types A.
template <class F, std::size_t... I, class... A>
struct Tracer<F, std::index_sequence<I...>, A...> {
  static constexpr bool known = ((role_of<A> != Role::none) && ...);
  static_assert(
      known, "kiln: an argument is not an array, an expression or a C++ number; copy host memory with kl::from_host");
  static constexpr Constants<sizeof...(A)> constants = [] {
    if constexpr (known)
      return constants_of<F>(std::index_sequence<I...>{}, static_cast<std::type_identity<A>*>(nullptr)...);
    return Constants<sizeof...(A)>{.refused = true};
  }();
  static_assert(!constants.refused || !known,
                "kiln: the lambda of kl::jit does not compile for these arguments: an error above says why, or give as "
                "many as it has parameters, and declare each parameter auto (arrays and run-time numbers) or "
                "kl::Const<T> (a number compiled into the kernel)");

  struct Environment {
    const F* function;
    const void* values[sizeof...(A) + 1];
  };
  static auto invoke(const Environment& e, Recorder& recorder, const TracedArgument* traced) {
    if constexpr (!constants.refused) {
      return (*e.function)(traced_argument<A, constants.is_const[I]>(recorder, traced[I], e.values[I])...);
    } else {
      return Refused{};
    }
  }
  using Result = decltype(invoke(std::declval<const Environment&>(), std::declval<Recorder&>(), nullptr));
  using Output = Outputs<Result>;
  using Arrays = typename Output::Arrays;

  [[gnu::cold]] static void trace(Recorder& recorder, const void* environment, const TracedArgument* traced,
                                  NodeId* nodes) {
    if constexpr (!std::is_void_v<Result>) {
      Output::store(invoke(*static_cast<const Environment*>(environment), recorder, traced), nodes);
    }
  }

  template <class J>
  static void perform(const J& f, Target* targets, Request& request, const A&... arguments) {
    Slot numbers[sizeof...(A) + 1];
    const Parts parts[] = {argument_parts<A, constants.is_const[I]>(arguments, numbers[I])..., Parts{}};
    const Environment environment{&f.function(), {static_cast<const void*>(&arguments)..., nullptr}};
    Evaluation e(parts, sizeof...(A), targets, Output::count);
    e.trace = &trace;
    e.environment = &environment;
    e.launch = request.launch;
    e.where = request.where;
    e.definition = f.definition();
    e.group = &f.group();
    e.signature = &function_site<F, typename KeyOf<A>::type...>;
    e.name = f.name();
    e.options = f.code_options();
    detail::perform(f.template site<typename KeyOf<A>::type...>(), e, request);
  }

  /// With new arrays for the results.
  template <class J>
  static Arrays call(const J& f, Request& request, const A&... arguments) {
    Arrays results;
    Target targets[Output::count];
    Output::targets(results, targets);
    perform(f, targets, request, arguments...);
    return results;
  }
  template <class... X, class J>
  static void call_into(const J& f, Request& request, Target* targets, const A&... arguments) {
    static_assert(Output::template convertible<X...>());
    perform(f, targets, request, arguments...);
  }
};

}  // namespace detail
}  // namespace kiln
