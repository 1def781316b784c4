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

}  // namespace kiln::detail
