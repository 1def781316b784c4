// codegen/emit/llvm_call.cpp -- arguments go through memory as arrays of elements, so that the host's loop over them
// can be vectorised by the compiler that built it.
#include "codegen/emit/llvm_call.h"

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

constexpr int largest_element = 16;  // bytes
constexpr const char* block_name = "%call.block";

std::string place(IrBuilder& b, std::size_t number) {
  if (number == 0) return block_name;
  const std::size_t offset = number * static_cast<std::size_t>(b.width() * largest_element);
  return b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", block_name, offset));
}

/// "<2N x float>" and the lanes that interleave two vectors, or take every second lane from `first` on.
std::string double_type(const IrBuilder& b, Lane lane) {
  return fmt::format("<{} x {}>", 2 * b.width(), name_of(lane));
}

std::string interleaving_lanes(int width) {
  std::string lanes;
  for (int k = 0; k < width; ++k) lanes += fmt::format("{}i32 {}, i32 {}", k ? ", " : "", k, width + k);
  return lanes;
}

std::string every_second_lane(int width, int first) {
  std::string lanes;
  for (int k = 0; k < width; ++k) lanes += fmt::format("{}i32 {}", k ? ", " : "", 2 * k + first);
  return lanes;
}

void store_argument(IrBuilder& b, const Parts& parts, const std::string& pointer) {
  if (parts.size() == 2) {
    const std::string pairs =
        b.emit_scalar(fmt::format("shufflevector {0} {1}, {0} {2}, <{3} x i32> <{4}>", b.type(parts[0].lane),
                                  parts[0].text, parts[1].text, 2 * b.width(), interleaving_lanes(b.width())));
    b.line(fmt::format("store {} {}, ptr {}, align 16", double_type(b, parts[0].lane), pairs, pointer));
    return;
  }
  const IrValue value = parts[0].lane == Lane::i1 ? b.convert("zext", parts[0], Lane::i8) : parts[0];
  b.line(fmt::format("store {} {}, ptr {}, align 16", b.type(value.lane), value.text, pointer));
}

Parts load_result(IrBuilder& b, DType type) {
  const Lane lane = storage_lane(type);
  if (is_complex(type)) {
    const std::string pairs = b.emit_scalar(fmt::format("load {}, ptr {}, align 16", double_type(b, lane), block_name));
    Parts parts;
    for (const int first : {0, 1}) {
      parts.push_back(
          b.emit(lane, fmt::format("shufflevector {0} {1}, {0} {1}, <{2} x i32> <{3}>", double_type(b, lane), pairs,
                                   b.width(), every_second_lane(b.width(), first))));
    }
    return parts;
  }
  const IrValue value = b.emit(lane, fmt::format("load {}, ptr {}, align 16", b.type(lane), block_name));
  return {type == DType::b1 ? b.compare("icmp ne", value, b.bits(Lane::i8, 0)) : value};
}

}  // namespace

std::string host_call_register(std::uint64_t number) { return fmt::format("%host{}", number); }

std::string call_block_variable(int width) {
  const std::size_t bytes = (NodeOperands::limit + 1) * static_cast<std::size_t>(width * largest_element);
  return fmt::format("  {} = alloca [{} x i8], align 64\n", block_name, bytes);
}

Parts print_call(IrBuilder& b, const Graph& body, const Node& node, const std::vector<Parts>& operands,
                 const std::string& count) {
  for (std::size_t k = 0; k < operands.size(); ++k) store_argument(b, operands[k], place(b, k + 1));
  const std::string host = host_call_register(node.payload);
  const std::string thunk = b.emit_scalar(fmt::format("load ptr, ptr {}", host));
  const std::string field = b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 8", host));
  const std::string context = b.emit_scalar(fmt::format("load ptr, ptr {}", field));
  b.line(fmt::format("call void {}(ptr {}, ptr {}, i64 {}, i64 {})", thunk, context, block_name,
                     b.width() * largest_element, count.empty() ? fmt::format("{}", b.width()) : count));
  return load_result(b, compute_type(body.function(node).result));
}

}  // namespace kiln::codegen
