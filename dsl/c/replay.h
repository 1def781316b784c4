// dsl/c/replay.h -- plays the steps of a graph into a recorder, with the type rules of the C++ interface.
#pragma once

#include <vector>

#include <kiln/detail/rules.h>

#include "dsl/c/program.h"
#include "dsl/recorder.h"

namespace kiln::dsl::c {

/// Throw KILN_ERROR_ARGUMENT unless the operation, or the function, takes `count` operands. They read no operand, so a
/// count that is wrong does no harm.
void require_count(const detail::OpInfo& info, std::size_t count, detail::Where where);
void require_count(const UserFunction& function, std::size_t count, detail::Where where);

class Replay {
 public:
  /// Makes inputs and scalars of the recorder as they come.
  explicit Replay(detail::Recorder& recorder) : recorder_(recorder), makes_slots_(true) {}
  /// The recorder has them: those of a call.
  enum SlotsOfCall : std::uint8_t { slots_of_call };
  Replay(detail::Recorder& recorder, SlotsOfCall) : recorder_(recorder) {}
  /// The inputs are nodes.
  Replay(detail::Recorder& recorder, const detail::NodeId* given) : recorder_(recorder), given_(given) {}

  /// Adds the values of the step. Throws what is wrong with it; then this object must not be used again.
  void play(const Step& step);
  void play(const Program& program) {
    for (std::size_t i = 0; i < program.size(); ++i) play(program[i]);
  }

  std::size_t size() const { return values_.size(); }
  /// KILN_ERROR_ARGUMENT for a value that does not exist.
  void check(kiln_value value) const;
  DType type(kiln_value value) const { return values_[value].type; }
  bool is_weak(kiln_value value) const { return values_[value].weak; }
  int rank(kiln_value value) const;
  /// The value recorded as one of `type`.
  detail::NodeId node_as(kiln_value value, DType type, detail::Where where);
  detail::NodeId node(kiln_value value, detail::Where where) { return node_as(value, values_[value].type, where); }

 private:
  struct Value {
    enum Kind : std::uint8_t { is_node, is_slot, is_number } kind = is_node;
    bool weak = false;
    DType type = DType::f32;
    std::uint32_t id = 0;            ///< node or slot
    std::uint64_t bits[2] = {0, 0};  ///< of a number
  };
  void add_node(detail::NodeId node, bool weak = false);
  detail::OperandType operand_type(kiln_value value) const { return {values_[value].type, values_[value].weak}; }
  detail::ScalarArgument number_of(const Value& value) const;
  /// The value, which must have axes, or could have: not a weak number.
  detail::NodeId array(kiln_value value, const char* what, detail::Where where);
  /// A number as one of `type`, whose kind must be as high.
  detail::NodeId number_as(kiln_value value, DType type, const char* what, detail::Where where);

  void input(const Step& step);
  void scalar(const Step& step);
  void constant(const Step& step);
  void operation(const Step& step);
  void random(const Step& step);
  void call(const Step& step);
  void reduce(const Step& step);
  void join(const Step& step);
  void take(const Step& step);
  void shift(const Step& step);
  void view(const Step& step);

  detail::Recorder& recorder_;
  const detail::NodeId* given_ = nullptr;
  bool makes_slots_ = false;
  std::uint32_t inputs_ = 0, scalars_ = 0;
  std::vector<Value> values_;
};

}  // namespace kiln::dsl::c
