// tests/fuzz/generator.h -- makes one random program; generate.cpp and generate_*.cpp.
#pragma once

#include "tests/fuzz/program.h"
#include "tests/fuzz/random.h"

namespace fuzz {

inline constexpr std::int64_t max_elements = 20000;      ///< of one value
inline constexpr std::int64_t max_large_elements = 200;  ///< of one value of a program of hundreds of nodes
inline constexpr std::int64_t max_long_elements = 140000;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) { program_.seed = seed; }
  Program run();

 private:
  Shape universe();
  Shape long_universe();
  /// Of one value that is made of others.
  std::int64_t most_elements() const { return long_ ? max_long_elements : max_elements; }
  void add_operand();
  void lay_out(Operand& operand);
  void add_view_of_memory(Operand& operand, int of);
  int add(Node node);
  int pick_node();
  int as_type(int node, DType type);
  void elementwise();
  void binary(int a, Op op);
  void ternary(int a);
  void choose();
  void choose_axes(Node& reduced, int rank);
  std::int64_t shape_reduced(Node& reduced, const Shape& shape);
  void reduce();
  void accumulate(Node& reduced, DType type);
  void broadcast_back(int operand, int reduced);
  bool choose_joining(Node& joined, int a);
  void reduce_by(int a, Node reduced);
  void scan();
  void view();
  void take();
  void one_hot();
  void complex_elementwise(int a);
  int real_part(int a);
  Function complex_reduction();
  void shift(int a, View& chosen, std::vector<int>& inputs);
  void step();
  void outputs();
  int number(DType type);
  Node& node(int n) { return program_.nodes[static_cast<std::size_t>(n)]; }

  Random random_;
  Program program_;
  Shape universe_;
  bool large_ = false;                ///< hundreds of nodes, or dozens of outputs
  bool long_ = false;                 ///< few nodes over long rows or columns
  std::int64_t most_ = max_elements;  ///< of an operand that is not long
};

}  // namespace fuzz
