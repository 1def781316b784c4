// kiln/jit.h -- kl::jit: a lambda over arrays and numbers, traced once per argument types and compiled to one kernel.
#pragma once

#include <kiln/detail/inspectable.h>
#include <kiln/detail/jit_arguments.h>
#include <kiln/eval.h>
#include <kiln/options.h>

namespace kiln {

/// An array argument of f.compile<...>: element type and rank.
template <class T, int Rank>
struct Sig {};

/// What f.compile<...> compiles for: {.archs = {"sm_80", "sm_90"}}.
struct CompileFor {
  detail::Archs archs;
};

template <class F>
class Jit;

namespace detail {

template <class... X>
constexpr bool require_destinations() {
  constexpr bool known = (destination<std::remove_cvref_t<X>> && ...), writable = (destination<X> && ...);
  static_assert(known, "kiln: f.into(...) writes arrays and views; kl::view makes a view of memory of your own");
  static_assert(writable || !known, "kiln: f.into(...) writes: a const array cannot be its destination");
  return writable;
}

/// A call in preparation: where results go and how it is launched.
template <class F, class... X>
class Into {
 public:
  /// `launch`: null where nothing was asked for.
  Into(const Jit<F>& function, const LaunchControl* launch, Targets<X...> targets)
      : function_(function), is_controlled_(launch != nullptr), targets_(targets) {
    if (launch) launch_ = *launch;
    for (Target& t : targets_.targets) t.resizable = t.handle->layout == nullptr;  // what exists keeps its shape
  }
  template <class... A>
  void operator()(const A&... arguments) {
    if constexpr (!fails_inside<F, A...>) at({}, arguments...);
  }
  /// For the library's templates, which call on behalf of the user.
  template <class... A>
  void at(Where where, const A&... arguments) {
    if constexpr ((destination<X> && ...))
      function_.template run_into<X...>(is_controlled_ ? &launch_ : nullptr, targets_.targets, where, arguments...);
  }

 private:
  const Jit<F>& function_;
  LaunchControl launch_;
  bool is_controlled_;
  Targets<X...> targets_;
};

template <class F>
class Configured {
 public:
  Configured(const Jit<F>& function, const Launch& launch) : function_(function), launch_(launch_control(launch)) {}
  template <class... A>
  auto operator()(const A&... arguments) const {
    if constexpr (fails_inside<F, A...>) {
      return Array<float>();
    } else {
      return function_.run(&launch_, arguments...);
    }
  }
  template <class... X>
  Into<F, std::remove_cvref_t<X>...> into(X&&... targets) const {
    if constexpr (require_destinations<X...>()) {
      return {function_, &launch_, targets_of(targets...)};
    } else {
      return {function_, nullptr, {}};
    }
  }

 private:
  const Jit<F>& function_;
  LaunchControl launch_;
};

}  // namespace detail

/// A compiled function. The lambda runs once per argument types and ranks of this object; its captures are constants of
/// this object, taken when it is first called (capture by value: a captured reference is read then and never again).
template <class F>
class Jit : public detail::Inspectable<Jit<F>> {
 public:
  // A function without captures is a constant: a static one needs neither a guard nor a destructor.
  constexpr explicit Jit(F function, const Options& options = {}, const char* name = nullptr, detail::Where where = {})
      : function_(static_cast<F&&>(function)), options_(options), name_(name), definition_(where) {}
  constexpr Jit(const Jit& other) : Jit(other.function_, other.options_, other.name_, other.definition_) {}
  constexpr Jit(Jit&& other) noexcept
      : function_(static_cast<F&&>(other.function_)),
        options_(other.options_),
        name_(other.name_),
        definition_(other.definition_),
        own_(other.own_) {
    other.own_ = {};
  }
  Jit& operator=(const Jit&) = delete;
  ~Jit()
    requires(std::is_empty_v<F>)
  = default;
  ~Jit() {
    if (own_.table) detail::destroy(own_);
  }

  /// Allocates and returns the result: an Array, or a tuple of Arrays where the lambda returns one. With traced
  /// arguments (inside another lambda) it records its body there.
  template <class... A>
  auto operator()(const A&... arguments) const {
    if constexpr (!detail::traced_here<A...>) {
      return run_at({}, nullptr, arguments...);
    } else if constexpr (requires { function_(std::declval<detail::ReceivedAs<A, false>>()...); }) {
      return run_at({}, nullptr, arguments...);  // asked here: errors inside the lambda name few lines of ours
    } else if constexpr (detail::fails_inside<F, A...>) {
      return Array<float>();
    } else {
      return run_at({}, nullptr, arguments...);
    }
  }
  /// f.into(y)(x): writes existing arrays or views.
  template <class... X>
  detail::Into<F, std::remove_cvref_t<X>...> into(X&&... targets) const {
    if constexpr (detail::require_destinations<X...>()) {
      return {*this, nullptr, detail::targets_of(targets...)};
    } else {
      return {*this, nullptr, {}};
    }
  }
  /// f[{.block = 256}](x): launch control.
  detail::Configured<F> operator[](const Launch& launch) const { return {*this, launch}; }
  template <class N>
    requires(std::is_integral_v<N>)
  detail::Configured<F> operator[](N) const {
    static_assert(detail::no_dtype<N>::value, "kiln: what a launch is told has names: f[{.block = 256}](x)");
    return {*this, {}};
  }

  /// f.inspect(x, ...) for an architecture that need not be present: f.inspect_for("sm_90", x, ...).
  template <class... A>
  Inspection inspect_for(detail::ArchName arch, const A&... arguments) const {
    detail::Request request(detail::Request::inspect, arch.name, arch.where);
    detail::Tracer<F, std::index_sequence_for<A...>, A...>::call(*this, request, arguments...);
    return Inspection(request.inspection);
  }
  /// Compiles ahead of the first call, without a GPU: array arguments as kl::Sig<T, rank>, numbers by their type. No
  /// architectures mean the current device. Work of more than half a second shows its progress on stderr.
  template <class... S>
  void compile(const CompileFor& what, detail::Where w = detail::Where::current()) const {
    const detail::CompileProgress progress(name_, what.archs);
    for (const char* arch : what.archs) precompile<S...>({arch, w}, progress, std::index_sequence_for<S...>{});
    if (what.archs.empty()) precompile<S...>({nullptr, w}, progress, std::index_sequence_for<S...>{});
  }

  /// From here on a call with argument types and ranks that the function was neither called with nor compiled for
  /// throws TypeError, which lists those that it was: nothing is traced by surprise. Other extents are still welcome.
  /// Objects made of one lambda without captures are sealed together.
  void seal() const { detail::seal(group()); }

  /// The variants that this function was compiled to so far, by calls and by f.compile, with signature, layouts,
  /// device, runs, registers, time and origin: std::cout << f.specializations(). Objects made of one lambda without
  /// captures have them together. Calls inside another compiled function are part of that one.
  Specializations specializations() const { return Specializations(detail::specializations(group())); }

  // For the library's templates.
  template <class... S, std::size_t... I>
  void precompile(detail::ArchName arch, const detail::CompileProgress& progress, std::index_sequence<I...>) const {
    using T = detail::Tracer<F, std::index_sequence<I...>, decltype(detail::SignatureArgument<S>::make(false, I))...>;
    // Sizes that are multiples of the vector, and others: the two variants that new arrays meet.
    for (const bool odd : {false, true}) {
      detail::Request request(detail::Request::precompile, arch.name, arch.where);
      T::call(*this, request, detail::SignatureArgument<S>::make(odd, I)...);
      progress.advance(arch.name);
    }
  }
  template <class... A>
  auto run(const detail::LaunchControl* launch, const A&... arguments) const {
    return run_at({}, launch, arguments...);
  }
  template <class... A>
  auto run_at(detail::Where where, const detail::LaunchControl* launch, const A&... arguments) const {
    if constexpr (((detail::role_of<A> == detail::Role::traced) || ...)) {
      constexpr bool refused =
          std::is_class_v<F> && !std::is_final_v<F> && detail::refuses<F, decltype(detail::inlined(arguments))...>;
      static_assert(!refused,
                    "kiln: a compiled function that is called in another one does not take these arguments; a number "
                    "which that one was given is no kl::Const: declare it kl::Const there, too");
      if constexpr (refused) {
        return detail::refused<typename detail::FirstOperand<A...>::type>();
      } else {
        return function_(detail::inlined(arguments)...);
      }
    } else {
      detail::Request request(launch, where);
      return detail::Tracer<F, std::index_sequence_for<A...>, A...>::call(*this, request, arguments...);
    }
  }
  template <class... X, class... A>
  void run_into(const detail::LaunchControl* launch, detail::Target* targets, detail::Where where,
                const A&... arguments) const {
    detail::Request request(launch, where);
    detail::Tracer<F, std::index_sequence_for<A...>, A...>::template call_into<X...>(*this, request, targets,
                                                                                     arguments...);
  }
  const F& function() const { return function_; }
  const char* name() const { return name_; }
  detail::Where definition() const { return definition_; }
  detail::CodeOptions code_options() const { return {options_.contract, options_.fast_math, options_.lineinfo}; }
  /// Closures without captures share one site per argument types; others keep theirs in the object.
  template <class... Keys>
  detail::Site& site() const {
    if constexpr (std::is_empty_v<F>) {
      return detail::function_site<F, Keys...>;
    } else {
      return own_;
    }
  }

  /// What all argument types of this function have in common.
  detail::Site& group() const { return site<>(); }

 private:
  [[no_unique_address]] F function_;
  Options options_;
  const char* name_;
  detail::Where definition_;
  mutable detail::Site own_;
};

/// Makes a compiled function of a lambda whose parameters are `auto` (arrays and run-time numbers) or kl::Const<T>
/// (numbers that are part of the kernel).
template <class F>
constexpr Jit<F> jit(F function, const Options& options = {}, detail::Where w = detail::Where::current()) {
  return Jit<F>(static_cast<F&&>(function), options, nullptr, w);
}
/// The same with a name for messages and profiles: a string that outlives the function.
template <class F>
constexpr Jit<F> jit(const char* name, F function, const Options& options = {},
                     detail::Where w = detail::Where::current()) {
  return Jit<F>(static_cast<F&&>(function), options, name, w);
}

}  // namespace kiln
