// codegen/emit/llvm_access.cpp -- vector loads, gathers, stores and scatters of CPU kernels.
#include "codegen/emit/llvm_access.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

int alignment_of(const AccessState& state) {
  const int element = static_cast<int>(size_of(state.access->type));
  return std::max(1, std::min<int>(state.access->alignment, is_complex(state.access->type) ? element / 2 : element));
}

std::string wide_type(const IrBuilder& b, Lane lane) { return fmt::format("<{} x {}>", 2 * b.width(), name_of(lane)); }

/// `<i32 first, first+step, ...>`; each number `repeat` times.
std::string shuffle_mask(int count, int first, int step, int repeat) {
  std::string text = fmt::format("<{} x i32> <", count);
  for (int k = 0; k < count; ++k) text += fmt::format("{}i32 {}", k ? ", " : "", first + step * (k / repeat));
  return text + ">";
}

std::string element_pointer(IrBuilder& b, const AccessState& state, const std::string& i) {
  if (state.inner() == AxisClass::contiguous) {
    const std::string offset = b.emit_scalar(fmt::format("mul i64 {}, {}", i, size_of(state.access->type)));
    return b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, offset));
  }
  const std::string offset = b.emit_scalar(fmt::format("mul i64 {}, {}", i, state.stride(state.vector_axis)));
  return b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, offset));
}

/// Mask operand of gathers and scatters: the tail's mask, all lanes elsewhere.
std::string mask_text(IrBuilder& b, const std::string& mask) { return mask.empty() ? b.bits(Lane::i1, 1).text : mask; }

std::string lane_pointers(IrBuilder& b, const AccessState& state, const std::string& pointer, const IrValue& distances,
                          int part) {
  std::string start = pointer;
  if (part) {
    start = b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", pointer, size_of(state.access->type) / 2));
  }
  return b.emit_scalar(fmt::format("getelementptr i8, ptr {}, {} {}", start, b.type(Lane::i64), distances.text));
}

std::string doubled_mask(IrBuilder& b, const std::string& mask) {
  return b.emit_scalar(fmt::format("shufflevector {0} {2}, {0} poison, {1}", b.type(Lane::i1),
                                   shuffle_mask(2 * b.width(), 0, 1, 2), mask));
}

Parts gathered(IrBuilder& b, const AccessState& state, const std::string& pointer, const IrValue& distances,
               const std::string& mask) {
  const DType type = state.access->type;
  const Lane lane = storage_lane(type);
  Parts parts;
  for (int part = 0; part < part_count(type); ++part) {
    const std::string pointers = lane_pointers(b, state, pointer, distances, part);
    parts.push_back(
        b.emit(lane, fmt::format("call {0} @llvm.masked.gather.{1}.v{2}p0(<{2} x ptr> {3}, i32 {4}, {5} {6}, {0} {7})",
                                 b.type(lane), b.suffix(lane), b.width(), pointers, alignment_of(state),
                                 b.type(Lane::i1), mask_text(b, mask), "zeroinitializer")));
  }
  return parts;
}

Parts load_pairs(IrBuilder& b, Lane lane, const std::string& pointer, int alignment, const std::string& mask) {
  const std::string type = wide_type(b, lane);
  std::string both;
  if (!mask.empty()) {
    const std::string doubled = doubled_mask(b, mask);
    both =
        b.emit_scalar(fmt::format("call {0} @llvm.masked.load.v{1}{2}.p0(ptr {3}, i32 {4}, <{1} x i1> {5}, {0} "
                                  "zeroinitializer)",
                                  type, 2 * b.width(), lane == Lane::f32 ? "f32" : "f64", pointer, alignment, doubled));
  } else {
    both = b.emit_scalar(fmt::format("load {}, ptr {}, align {}", type, pointer, alignment));
  }
  Parts parts;
  for (int part = 0; part < 2; ++part) {
    parts.push_back(b.emit(
        lane, fmt::format("shufflevector {0} {1}, {0} poison, {2}", type, both, shuffle_mask(b.width(), part, 2, 1))));
  }
  return parts;
}

}  // namespace

std::string AccessState::stride(std::size_t axis) const {
  switch (access->axes[axis]) {
    case AxisClass::contiguous:
      return access->iota ? "1" : fmt::format("{}", size_of(access->type));
    case AxisClass::broadcast:
      return "0";
    default:
      return strides[axis];
  }
}

Lane storage_lane(DType type) { return type == DType::b1 ? Lane::i8 : lane_of(type); }

Parts load_vector(IrBuilder& b, const AccessState& state, const std::string& i, const std::string& mask) {
  const DType type = state.access->type;
  const Lane lane = storage_lane(type);
  const int alignment = alignment_of(state);
  const std::string pointer = element_pointer(b, state, i);
  if (state.inner() != AxisClass::contiguous) return gathered(b, state, pointer, state.lane_offsets, mask);
  if (is_complex(type)) return load_pairs(b, lane, pointer, alignment, mask);
  if (mask.empty()) return {b.emit(lane, fmt::format("load {}, ptr {}, align {}", b.type(lane), pointer, alignment))};
  return {b.emit(lane, fmt::format("call {0} @llvm.masked.load.{1}.p0(ptr {2}, i32 {3}, {4} {5}, {0} zeroinitializer)",
                                   b.type(lane), b.suffix(lane), pointer, alignment, b.type(Lane::i1), mask))};
}

Parts load_lanes(IrBuilder& b, const AccessState& state, const IrValue& distances, const std::string& mask) {
  return gathered(b, state, state.row, distances, mask);
}

Parts load_broadcast(IrBuilder& b, const AccessState& state) {
  const DType type = state.access->type;
  const Lane lane = storage_lane(type);
  Parts parts;
  for (int part = 0; part < part_count(type); ++part) {
    const std::string pointer =
        b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, part * bytes_of(lane)));
    const std::string scalar =
        b.emit_scalar(fmt::format("load {}, ptr {}, align {}", name_of(lane), pointer, alignment_of(state)));
    parts.push_back(b.splat(lane, scalar));
  }
  return parts;
}

Parts load_gathered(IrBuilder& b, const AccessState& state, const IrValue& at, const IrValue& exists) {
  const DType type = state.access->type;
  const Lane lane = storage_lane(type);
  const IrValue offsets = at * b.bits(Lane::i64, size_of(type));
  Parts parts;
  for (int part = 0; part < part_count(type); ++part) {
    const std::string start =
        b.emit_scalar(fmt::format("getelementptr i8, ptr {}, i64 {}", state.base, part * bytes_of(lane)));
    const std::string pointers =
        b.emit_scalar(fmt::format("getelementptr i8, ptr {}, {} {}", start, b.type(Lane::i64), offsets.text));
    const IrValue missing = b.bits(lane, missing_bits(is_complex(type) ? real_of(type) : type));
    parts.push_back(
        b.emit(lane, fmt::format("call {0} @llvm.masked.gather.{1}.v{2}p0(<{2} x ptr> {3}, i32 {4}, {5} {6}, {0} {7})",
                                 b.type(lane), b.suffix(lane), b.width(), pointers, alignment_of(state),
                                 b.type(Lane::i1), exists.text, missing.text)));
  }
  return parts;
}

IrValue iota_vector(IrBuilder& b, const AccessState& state, const std::string& i, const IrValue& lane_offsets) {
  if (state.inner() == AxisClass::broadcast) return b.splat(Lane::i64, state.row);
  const std::string stride = state.access->axes.empty() ? "1" : state.stride(state.vector_axis);
  const std::string step = b.emit_scalar(fmt::format("mul i64 {}, {}", i, stride));
  const std::string first = b.emit_scalar(fmt::format("add i64 {}, {}", state.row, step));
  return b.splat(Lane::i64, first) + lane_offsets;
}

void store_vector(IrBuilder& b, const AccessState& state, const std::string& i, const Parts& parts,
                  const std::string& mask) {
  const DType type = state.access->type;
  const Lane lane = storage_lane(type);
  const int alignment = alignment_of(state);
  const std::string pointer = element_pointer(b, state, i);
  if (state.inner() != AxisClass::contiguous) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const std::string pointers = lane_pointers(b, state, pointer, state.lane_offsets, static_cast<int>(part));
      b.line(fmt::format("call void @llvm.masked.scatter.{}.v{}p0({} {}, <{} x ptr> {}, i32 {}, {} {})", b.suffix(lane),
                         b.width(), b.type(lane), parts[part].text, b.width(), pointers, alignment, b.type(Lane::i1),
                         mask_text(b, mask)));
    }
    return;
  }
  std::string vector_type = b.type(lane), value = parts[0].text, mask_type = b.type(Lane::i1), lanes = mask,
              suffix = b.suffix(lane);
  if (is_complex(type)) {
    std::string order = fmt::format("<{} x i32> <", 2 * b.width());
    for (int k = 0; k < b.width(); ++k) order += fmt::format("{}i32 {}, i32 {}", k ? ", " : "", k, k + b.width());
    value =
        b.emit_scalar(fmt::format("shufflevector {0} {1}, {0} {2}, {3}>", vector_type, value, parts[1].text, order));
    vector_type = wide_type(b, lane);
    mask_type = fmt::format("<{} x i1>", 2 * b.width());
    suffix = fmt::format("v{}{}", 2 * b.width(), lane == Lane::f32 ? "f32" : "f64");
    if (!mask.empty()) lanes = doubled_mask(b, mask);
  }
  if (!mask.empty()) {
    b.line(fmt::format("call void @llvm.masked.store.{}.p0({} {}, ptr {}, i32 {}, {} {})", suffix, vector_type, value,
                       pointer, alignment, mask_type, lanes));
  } else {
    b.line(fmt::format("store {} {}, ptr {}, align {}", vector_type, value, pointer, alignment));
  }
}

IrValue load_plain(IrBuilder& b, const std::string& pointer, Lane lane, const IrValue* mask) {
  if (!mask) return b.emit(lane, fmt::format("load {}, ptr {}, align 1", b.type(lane), pointer));
  return b.emit(lane, fmt::format("call {0} @llvm.masked.load.{1}.p0(ptr {2}, i32 1, {3} {4}, {0} zeroinitializer)",
                                  b.type(lane), b.suffix(lane), pointer, b.type(Lane::i1), mask->text));
}

void store_plain(IrBuilder& b, const std::string& pointer, const IrValue& value, const IrValue* mask) {
  const std::string type = b.type(value.lane);
  if (!mask) {
    b.line(fmt::format("store {} {}, ptr {}, align 1", type, value.text, pointer));
  } else {
    b.line(fmt::format("call void @llvm.masked.store.{}.p0({} {}, ptr {}, i32 1, {} {})", b.suffix(value.lane), type,
                       value.text, pointer, b.type(Lane::i1), mask->text));
  }
}

void store_first_lane(IrBuilder& b, const AccessState& state, const Parts& parts) {
  const Lane lane = storage_lane(state.access->type);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::string pointer = b.emit_scalar(
        fmt::format("getelementptr i8, ptr {}, i64 {}", state.row, static_cast<int>(part) * bytes_of(lane)));
    const std::string scalar =
        b.emit_scalar(fmt::format("extractelement {} {}, i32 0", b.type(lane), parts[part].text));
    b.line(fmt::format("store {} {}, ptr {}, align {}", name_of(lane), scalar, pointer, alignment_of(state)));
  }
}

}  // namespace kiln::codegen
