// kiln/detail/structure.h -- types that spell the program of an inline expression.
#pragma once

#include <kiln/detail/program.h>

namespace kiln::detail {

template <DType T>
struct Input {
  static constexpr DType type = T;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) { *p++ = {.kind = Instruction::input, .type = T}; }
};

/// An affine function of the element's position: kl::index, counters.
struct Iota {
  static constexpr DType type = DType::i64;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) { *p++ = {.kind = Instruction::iota, .type = type}; }
};

/// A run-time scalar given as a Source and converted by the host to T.
template <DType T, DType Source>
struct Parameter {
  static constexpr DType type = T;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) { *p++ = {.kind = Instruction::parameter, .type = T, .source = Source}; }
};

/// A baked number written as Source and used as T.
template <DType T, DType Source>
struct Literal {
  static constexpr DType type = T;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) { *p++ = {.kind = Instruction::literal, .type = T, .source = Source}; }
};

/// The value of a kl::let.
template <DType T>
struct Shared {
  static constexpr DType type = T;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) { *p++ = {.kind = Instruction::fragment, .type = T}; }
};

template <Op O, DType T, class... C>
struct Apply {
  static constexpr DType type = T;
  static constexpr unsigned size = (C::size + ...) + 1;
  static constexpr void emit(Instruction*& p) {
    (C::emit(p), ...);
    *p++ = {.kind = Instruction::operation, .type = T, .arity = sizeof...(C), .op = O};
  }
};

template <DType T, class C>
struct Convert {
  static constexpr DType type = T;
  static constexpr unsigned size = C::size + 1;
  static constexpr void emit(Instruction*& p) {
    C::emit(p);
    *p++ = {.kind = Instruction::cast, .type = T, .arity = 1};
  }
};

/// Philox numbers of a counter and a key.
template <DType T, bool Normal>
struct Random {
  static constexpr DType type = T;
  static constexpr unsigned size = 3;
  static constexpr void emit(Instruction*& p) {
    Iota::emit(p);
    Parameter<DType::u64, DType::u64>::emit(p);
    *p++ = {.kind = Normal ? Instruction::normal : Instruction::uniform, .type = T, .arity = 2};
  }
};

/// A reduction or scan of C, a user's one with its identity. Which one, and the axes, are in the slot before the last.
template <DType T, class... C>
struct Reduced {
  static constexpr DType type = T;
  static constexpr unsigned size = (C::size + ...) + 2;
  static constexpr bool has_place = true;
  static constexpr void emit(Instruction*& p) {
    (C::emit(p), ...);
    *p++ = {.kind = Instruction::structure};
    *p++ = {.kind = Instruction::reduction, .type = T, .arity = sizeof...(C)};
  }
};

/// A call of a user's function; which one is in the slot before the last. `Traced`: it may mix elements.
template <DType T, bool Traced, class... C>
struct Called {
  static constexpr DType type = T;
  static constexpr unsigned size = (C::size + ...) + 2;
  static constexpr void emit(Instruction*& p) {
    (C::emit(p), ...);
    *p++ = {.kind = Instruction::structure};
    *p++ = {.kind = Traced ? Instruction::traced : Instruction::call, .type = T, .arity = sizeof...(C)};
  }
};

/// A number that a traced function records where it uses it.
template <DType Source>
struct Argument {
  static constexpr DType type = Source;
  static constexpr unsigned size = 1;
  static constexpr void emit(Instruction*& p) {
    *p++ = {.kind = Instruction::argument, .type = Source, .source = Source};
  }
};

/// Two or three values, as the one operand of a reduction.
template <class First, class... Rest>
struct Tupled {
  static constexpr DType type = First::type;
  static constexpr unsigned size = (First::size + ... + Rest::size) + 1;
  static constexpr bool has_place = true;
  static constexpr void emit(Instruction*& p) {
    First::emit(p);
    (Rest::emit(p), ...);
    *p++ = {.kind = Instruction::tuple, .type = type, .arity = 1 + sizeof...(Rest)};
  }
};

/// One of the values that a reduction of tuples gives.
template <DType T, class C>
struct Component {
  static constexpr DType type = T;
  static constexpr unsigned size = C::size + 2;
  static constexpr bool has_place = true;
  static constexpr void emit(Instruction*& p) {
    C::emit(p);
    *p++ = {.kind = Instruction::structure};
    *p++ = {.kind = Instruction::component, .type = T, .arity = 1};
  }
};

/// Elements of X at indices I; how is in the slot before the last.
template <DType T, class X, class I>
struct Taken {
  static constexpr DType type = T;
  static constexpr unsigned size = X::size + I::size + 2;
  static constexpr bool has_place = true;
  static constexpr void emit(Instruction*& p) {
    X::emit(p);
    I::emit(p);
    *p++ = {.kind = Instruction::structure};
    *p++ = {.kind = Instruction::taken, .type = T, .arity = 2};
  }
};

template <unsigned N>
struct Code {
  Instruction items[N];
};

template <class S>
constexpr Code<S::size> assemble() {
  Code<S::size> code{};
  Instruction* p = code.items;
  S::emit(p);
  return code;
}

/// The program of S, one per structure.
template <class S>
inline constexpr Code<S::size> code_of = assemble<S>();

/// True when a view of the expression is not the expression of viewed operands.
constexpr bool mixes_elements(const Instruction* code, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    if (code[i].kind >= Instruction::reduction) return true;
  }
  return false;
}

}  // namespace kiln::detail
