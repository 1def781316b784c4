// codegen/emit/llvm_column_buffers.cpp -- vector loads and stores of states.
#include "codegen/emit/llvm_column_buffers.h"

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

std::string address(IrBuilder& b, const std::string& array, Lane memory, const std::string& column) {
  return b.emit_scalar(fmt::format("getelementptr {}, ptr {}, i64 {}", name_of(memory), array, column));
}

}  // namespace

Parts load_buffers(IrBuilder& b, const Buffers& buffers, const std::string& column) {
  Parts parts;
  for (std::size_t c = 0; c < buffers.lanes.size(); ++c) {
    const Lane lane = buffers.lanes[c], memory = lane_in_memory(lane);
    const std::string pointer = address(b, buffers.addresses[c], memory, column);
    const IrValue part =
        b.emit(memory, fmt::format("load {}, ptr {}, align {}", b.type(memory), pointer, bytes_of(memory)));
    parts.push_back(lane == memory ? part : b.compare("icmp ne", part, b.bits(memory, 0)));
  }
  return parts;
}

void store_buffers(IrBuilder& b, const Buffers& buffers, const std::string& column, const Parts& parts) {
  for (std::size_t c = 0; c < buffers.lanes.size(); ++c) {
    const Lane lane = buffers.lanes[c], memory = lane_in_memory(lane);
    const IrValue part = lane == memory ? parts[c] : b.convert("zext", parts[c], memory);
    const std::string pointer = address(b, buffers.addresses[c], memory, column);
    b.line(fmt::format("store {} {}, ptr {}, align {}", b.type(memory), part.text, pointer, bytes_of(memory)));
  }
}

Parts load_variables(IrBuilder& b, const std::vector<Lane>& lanes, const std::vector<std::string>& addresses) {
  Parts parts;
  for (std::size_t c = 0; c < addresses.size(); ++c)
    parts.push_back(b.emit(lanes[c], fmt::format("load {}, ptr {}", b.type(lanes[c]), addresses[c])));
  return parts;
}

void store_variables(IrBuilder& b, const Parts& parts, const std::vector<std::string>& addresses) {
  for (std::size_t c = 0; c < addresses.size(); ++c)
    b.line(fmt::format("store {} {}, ptr {}", b.type(parts[c].lane), parts[c].text, addresses[c]));
}

}  // namespace kiln::codegen
