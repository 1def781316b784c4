// dsl/gather.h -- from the flat parts of an expression to a Call: operands, scalars, tags, and how to trace them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <kiln/detail/program.h>

#include "dsl/fragment.h"
#include "dsl/short_list.h"

namespace kiln::dsl {

/// The operands of one evaluation, in the order in which its programs consume them: the parts, then every distinct
/// fragment below them.
class Gathered {
 public:
  /// `where` is the place of the evaluation, for parts that do not know theirs.
  /// `definition`: of the function that is called, for messages that have no other.
  Gathered(const detail::Parts* parts, unsigned count, detail::Where where = {}, detail::Where definition = {});
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;

  /// Everything about the operands; the caller sets targets, site options and environment.
  void fill(detail::Call& call) const;
  void add_tag(const void* tag) { tags_.push(tag); }
  /// The line of the outermost operation of the first part that has one.
  detail::Where where() const { return where_; }

  /// Records the parts; writes the node of each, or for numbers the slot.
  void record(detail::Recorder& recorder, detail::TracedArgument* traced) const;

 private:
  struct Base {
    unsigned input = 0, scalar = 0;
  };
  struct Program {
    const detail::Instruction* code;
    const detail::Slot* slots;
    std::size_t size;
    Base base;
  };
  void number_fragments();
  void walk(const Program& program);
  detail::NodeId run(detail::Recorder& recorder, const Program& program,
                     const std::vector<detail::NodeId>& nodes) const;
  std::vector<detail::NodeId> record_fragments(detail::Recorder& recorder) const;
  unsigned number_of(const detail::Fragment* fragment) const;

  const detail::Parts* parts_;
  unsigned part_count_;
  ShortList<Base, 8> bases_;
  std::vector<detail::Fragment*> fragments_;
  std::vector<std::pair<const detail::Fragment*, unsigned>> numbers_;  ///< sorted by address
  std::vector<Base> fragment_bases_;
  ShortList<detail::Handle, 16> inputs_;
  ShortList<detail::ScalarArgument, 8> scalars_;
  ShortList<const void*, 8> tags_;
  detail::Where where_, definition_;
};

}  // namespace kiln::dsl
