// kiln/detail/program.h -- inline expressions as flat data: a constant postfix program and one slot per instruction.
//
// An expression's type fixes its program; the object holds only slots. Everything that works on them is in the library.
#pragma once

#include <kiln/detail/bridge.h>

namespace kiln::detail {

/// One step of a postfix program; slot i belongs to instruction i.
struct Instruction {
  enum Kind : std::uint8_t {
    input,      ///< slot: the array's Handle
    iota,       ///< slot: the Handle of an index operand (see record_iota)
    parameter,  ///< slot: a number of type `source`, converted to `type` at each call
    literal,    ///< slot: a number of type `source`, part of the kernel and of its key
    fragment,   ///< slot: a shared subexpression
    operation,  ///< slot: where it was written, as for the following
    cast,
    uniform,
    normal,
    argument,   ///< a number given to a traced function: recorded where it is used
    constant,   ///< a kl::Const given to a traced function: part of the key, never recorded by itself
    structure,  ///< slot: two words that say more about the next instruction; part of the key
    call,       ///< its structure is a function of make_function; slot, as for the following: where it was written
    reduction,  ///< its structure is a ReductionCall
    tuple,
    component,  ///< its structure is the number of the component
    viewed,     ///< its structure is kind and count of a view's numbers, then the numbers, two a slot; a shift's second
                ///< operand is what it fills with
    traced,     ///< its structure is a FunctionTrace without environment, which records the operation
    taken       ///< operands source and indices; its structure is a TakeCall
  };
  Kind kind = input;
  DType type = DType::f32;
  DType source = DType::f32;
  std::uint8_t arity = 0;
  Op op = Op::add;
};

/// What an instruction works on, 24 bytes: a Handle, the bytes of a number, or a source line. `owner` is a Storage, or
/// a Fragment with the lowest bit set, of which the slot holds a reference; null for numbers and lines.
struct Slot {
  void* owner;
  std::uint64_t words[2];
};
static_assert(sizeof(Slot) == sizeof(Handle));

/// Copies slots and retains what they refer to.
KILN_API void copy_slots(Slot* to, const Slot* from, unsigned count) noexcept;
/// Moves slots; those moved from refer to nothing.
KILN_API void move_slots(Slot* to, Slot* from, unsigned count) noexcept;
KILN_API void release_slots(Slot* slots, unsigned count) noexcept;
/// Releases an operation and its operands, given its own slot, which is the last and counts them.
KILN_API void release_operation(Slot* last) noexcept;

/// How the slots of an operand are taken into an operation: twice their number, plus one when the operand is a
/// temporary whose references are taken over. 21 bits for each operand.
using Take = std::uint64_t;
constexpr Take take_slots(std::size_t count, bool movable) { return count * 2 + (movable ? 1 : 0); }
constexpr Take take_both(Take a, Take b) { return a | b << 21; }

/// Writes the slots of the operands, which are expressions, arrays or single slots, and behind them that of the
/// operation.
KILN_API void compose(Slot* to, Where where, Take take, const void* a) noexcept;
KILN_API void compose(Slot* to, Where where, Take take, const void* a, const void* b) noexcept;
KILN_API void compose(Slot* to, Where where, Take take, const void* a, const void* b, const void* c) noexcept;
/// Writes the slots of one operand.
KILN_API void compose(Slot* to, Take take, const void* a) noexcept;

/// One of many operands.
struct OperandSlots {
  const void* slots;
  Take take;
};
KILN_API void compose(Slot* to, Where where, const OperandSlots* operands, unsigned count) noexcept;

/// The slots of an expression, which own what they refer to. One type serves all expressions of a size.
template <unsigned N>
struct Slots {
  Slot items[N];

  Slots(Where where, Take take, const void* a) noexcept { compose(items, where, take, a); }
  Slots(Where where, Take take, const void* a, const void* b) noexcept { compose(items, where, take, a, b); }
  Slots(Where where, Take take, const void* a, const void* b, const void* c) noexcept {
    compose(items, where, take, a, b, c);
  }
  Slots(Where where, const OperandSlots* operands, unsigned count) noexcept { compose(items, where, operands, count); }
  Slots(Take take, const void* a) noexcept { compose(items, take, a); }
  Slots(const Slots& other) noexcept { copy_slots(items, other.items, N); }
  Slots(Slots&& other) noexcept { move_slots(items, other.items, N); }
  Slots& operator=(Slots other) noexcept {
    for (unsigned i = 0; i < N; ++i) std::swap(items[i], other.items[i]);
    return *this;
  }
  ~Slots() {
    if constexpr (N == 1) {
      release_slots(items, 1);
    } else {
      release_operation(items + N - 1);
    }
  }
};

/// The constructor of an expression from what its Slots are made of.
struct OfSlots {};

/// An expression, array or number as the library sees it. Nothing is owned.
struct Parts {
  const Instruction* code = nullptr;
  const Slot* slots = nullptr;
  unsigned size = 0;
};

/// The site of an inline expression with one destination type, and its program.
struct InlineSite {
  const Instruction* code;
  unsigned size;
  DType type;
  bool resizable;
  Site site{};
};
/// Evaluates into `target`. `where` is named when no operation of the expression knows its own place (`a == b`).
KILN_API void evaluate(InlineSite& site, Handle& target, const Slot* slots);
KILN_API void evaluate(InlineSite& site, Handle& target, const Slot* slots, Where where);

/// An argument of a traced function: its node, or (numbers) the slot of the scalar.
struct TracedArgument {
  NodeId node = 0;
  unsigned slot = 0;
};
/// Runs the user's lambda on traced arguments; writes one node per output.
using FunctionTrace = void (*)(Recorder&, const void* environment, const TracedArgument* arguments, NodeId* outputs);

/// One evaluation. Without `trace` the parts are the outputs, else they are the arguments of the traced function.
struct Evaluation {
  // Not an aggregate; see Call.
  Evaluation(const Parts* p, unsigned count, Target* to, unsigned to_count)
      : parts(p), part_count(count), target_count(to_count), targets(to) {}

  const Parts* parts;
  unsigned part_count;
  unsigned target_count;
  Target* targets;
  FunctionTrace trace = nullptr;
  const void* environment = nullptr;
  const void* signature = nullptr;  ///< tells apart the argument types that share a site; part of the key
  const char* name = nullptr;
  const LaunchControl* launch = nullptr;
  Site* group = nullptr;  ///< of the function; see Call
  CodeOptions options = {};
  const ScatterTarget* scatter = nullptr;
  Where where = {};       ///< of the evaluation; the operations of the parts usually know better
  Where definition = {};  ///< of the function: said where nothing else is known
};

KILN_API void evaluate(Site& site, const Evaluation& evaluation);
KILN_API Inspection* inspect(Site& site, const Evaluation& evaluation, const char* arch);
/// Compiles into the caches without running. `arch` need not be present; null means the current device.
KILN_API void precompile(Site& site, const Evaluation& evaluation, const char* arch);
/// A series of `variants` compiles of the function `name` (or null); `bar` is what begin returned.
KILN_API void* begin_compile_progress(const char* name, unsigned variants);
KILN_API void advance_compile_progress(void* bar, const char* arch);
KILN_API void end_compile_progress(void* bar) noexcept;

/// kl::scatter_add and its like: `axis` of `target` is where `indices` point. The sites belong to the types of the
/// parts.
struct ScatterSites {
  Site scatter, indices, updates, counts;
};
struct ScatterCall {
  Scattering operation = Scattering::add;
  bool unordered = false;
  std::int64_t axis = 0;
  DType type = DType::f32;  ///< of the target
};
KILN_API void scatter(ScatterSites& sites, const ScatterCall& call, Handle& target, const Parts& indices,
                      const Parts& updates, Where where);

/// inspect() of the same: `arch` null means the target's device.
KILN_API Inspection* inspect_scatter(ScatterSites& sites, const ScatterCall& call, Handle& target, const Parts& indices,
                                     const Parts& updates, const char* arch, Where where);
/// Numbers (u32) of the elements of `keys`, a vector of i32 in [0, bins], in the order of their keys; equal ones in
/// their own; those of `bins` last, or 0 in their place. ShapeError for 2^31 of either.
KILN_API Handle order_by_key(const Handle& keys, std::int64_t bins, Where where);
/// ShapeError unless there are parts, TypeError unless both ends are finite and in their order.
KILN_API void check_histogram(std::int32_t bins, double lo, double hi, Where where);
[[noreturn]] KILN_API void no_axis_to_stretch(Where where);
/// ShapeError unless `what` of a ufunc's method has one axis.
KILN_API void check_vector(const char* what, const std::int64_t* shape, int rank, Where where);

/// The expression's shape; returns the rank.
KILN_API int shape_of(const Parts& parts, std::int64_t* shape, Where where);
/// Broadcasts every operand to the expression's shape, then applies the view to each. `slots`, the array that `parts`
/// points to, is changed in place; unchanged when it throws.
KILN_API void view_of(const Parts& parts, Slot* slots, ViewKind kind, const std::int64_t* numbers, unsigned count,
                      Where where);
/// The view of an expression whose view is not the expression of viewed operands, as a shared subexpression.
KILN_API Slot viewed_fragment(const Parts& parts, ViewKind kind, const std::int64_t* numbers, unsigned count,
                              Where where);
/// The expression displaced, as a shared subexpression. `fill` is a number of its type for Beyond::fill, else null.
KILN_API Slot shifted_fragment(const Parts& parts, const Parts* fill, Beyond beyond, const std::int64_t* by,
                               unsigned count, Where where);
/// The index operand of kl::index(e, axis).
KILN_API Handle index_operand(const Parts& parts, int axis, Where where);
/// The operand whose value is the C-order number of each element of `shape`.
KILN_API Handle counter_operand(const std::int64_t* shape, int rank, Where where);
/// A shared copy of the expression, as the slot that refers to it. Operands are retained.
KILN_API Slot make_fragment(const Parts& parts);

/// A function of CUDA text as kl::function describes it. `thunk` computes `count` results from arrays of arguments: see
/// codegen/ir/function.h. The library takes over `context`, which `destroy` frees; a `shared` one is no state, and
/// equal descriptions with it are one function.
struct FunctionText {
  using Thunk = void (*)(const void* context, unsigned char* block, std::int64_t stride, std::int64_t count);
  const char* name = nullptr;
  const char* const* parameter_names = nullptr;
  const DType* parameters = nullptr;
  unsigned count = 0;
  DType result = DType::f32;
  const char* text = nullptr;
  const char* preamble = nullptr;
  Thunk thunk = nullptr;  ///< null: no host version
  const void* context = nullptr;
  void (*destroy)(const void* context) = nullptr;
};
/// The structure slot of calls; the caller owns the reference that it holds. TypeError: names that are no identifiers,
/// or text that returns nothing.
KILN_API Slot make_function(const FunctionText& function, Where where);
/// The same function with declarations before it.
KILN_API Slot with_preamble(const Slot& function, const char* preamble);
KILN_API NodeId record_call(Recorder& recorder, const Slot& function, const NodeId* operands, unsigned count, Where);

/// ShapeError unless `count` values fill `shape` exactly.
KILN_API void check_count(std::int64_t count, const std::int64_t* shape, int rank, Where where);
/// Number of elements of arange(start, stop, step); ShapeError for a step of 0 or more elements than 2^63.
KILN_API std::int64_t arange_count(double start, double stop, double step, Where where);
KILN_API std::int64_t arange_count(std::int64_t start, std::int64_t stop, std::int64_t step, Where where);
[[noreturn]] KILN_API void stride_mismatch(int rank, int strides, Where where);
/// ShapeError unless the layout has one element.
KILN_API void check_single(const Layout* layout, Where where);

/// Records a number written in a traced function as a literal of `type`; TypeError when an integer does not fit, which
/// names the operation `op` (< 0: none).
KILN_API NodeId record_number(Recorder& recorder, const ScalarArgument& number, DType type, Where where, int op = -1);
/// Throws TypeError: integer powers need exponents >= 0 when the exponent is a number.
KILN_API void check_exponent(const ScalarArgument& exponent, Where where);

}  // namespace kiln::detail
