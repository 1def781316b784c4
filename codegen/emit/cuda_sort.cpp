// codegen/emit/cuda_sort.cpp -- the text of the kernels that sort by key and join runs.
#include "codegen/emit/cuda_sort.h"

#include <fmt/format.h>

#include "codegen/emit/cuda_prelude.h"
#include "codegen/emit/cuda_types.h"

namespace kiln::codegen {
namespace {

constexpr const char* arguments_text = R"(
struct Arguments {
  const i32* keys;
  const u32* numbers;
  i32* sorted_keys;
  u32* sorted_numbers;
  void* counts;
  const void* values;
  void* target;
  i32* next_keys;
  void* next_values;
  i64 count, tiles, bins, outer, inner;
  i32 shift, one_value, by_number, unused;
  i64 updates;
};
)";

constexpr const char* count_text = R"(
extern "C" __global__ void __launch_bounds__(256) kiln_sort_count(const __grid_constant__ Arguments a) {
  __shared__ u32 digits[256];
  digits[threadIdx.x] = 0;
  __syncthreads();
  const i64 first = i64(blockIdx.x) * 4096 + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 16; ++k) {
    const i64 i = first + k * 256;
    if (i < a.count) atomicAdd(&digits[u32(a.keys[i]) >> a.shift & 255u], 1u);
  }
  __syncthreads();
  reinterpret_cast<u32*>(a.counts)[threadIdx.x * a.tiles + blockIdx.x] = digits[threadIdx.x];
}
)";

// Each warp takes 512 keys in a row, 32 at a time: equal digits of a tile are numbered by warp, step and lane.
constexpr const char* move_text = R"(
extern "C" __global__ void __launch_bounds__(256) kiln_sort_move(const __grid_constant__ Arguments a) {
  __shared__ u32 next[8][256];
  const u32 warp = threadIdx.x / 32u, lane = threadIdx.x % 32u;
  for (int w = 0; w < 8; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  const i64 first = i64(blockIdx.x) * 4096 + warp * 512u + lane;
  for (int k = 0; k < 16; ++k) {
    const i64 i = first + k * 32;
    if (i < a.count) atomicAdd(&next[warp][u32(a.keys[i]) >> a.shift & 255u], 1u);
  }
  __syncthreads();
  const i64 place = threadIdx.x * a.tiles + blockIdx.x;
  u32 start = place > 0 ? u32(reinterpret_cast<const u64*>(a.counts)[place - 1]) : 0u;
  for (int w = 0; w < 8; ++w) {
    const u32 keys = next[w][threadIdx.x];
    next[w][threadIdx.x] = start;
    start += keys;
  }
  __syncthreads();
  for (int k = 0; k < 16; ++k) {
    const i64 i = first + k * 32;
    const bool inside = i < a.count;
    const i32 key = inside ? a.keys[i] : 0;
    const u32 digit = inside ? u32(key) >> a.shift & 255u : 256u;
    u32 peers = ~0u;  // lanes with the same digit
#pragma unroll
    for (int bit = 0; bit < 9; ++bit) {
      const bool is_set = (digit >> bit & 1u) != 0;
      const u32 votes = __ballot_sync(~0u, is_set);
      peers &= is_set ? votes : ~votes;
    }
    const u32 rank = __popc(peers & ((1u << lane) - 1u));
    const u32 base = inside ? next[warp][digit] : 0u;
    __syncwarp();
    if (inside && rank == 0) next[warp][digit] = base + __popc(peers);
    __syncwarp();
    if (!inside) continue;
    a.sorted_keys[base + rank] = key;
    a.sorted_numbers[base + rank] = a.numbers ? a.numbers[i] : u32(i);
  }
}
)";

// A run that a neighbouring chunk shares becomes entry 0 of the next level where it comes from the left, else entry 1.
constexpr const char* join_text = R"(
extern "C" __global__ void __launch_bounds__(256) kiln_join_runs(const __grid_constant__ Arguments a) {
  const i64 chunk = i64(blockIdx.x) * blockDim.y + threadIdx.y;
  const i64 begin = chunk * 64;
  if (begin >= a.count) return;
  const i64 end = begin + 64 < a.count ? begin + 64 : a.count;
  const Update* const values = reinterpret_cast<const Update*>(a.values);
  const Sum* const partial = reinterpret_cast<const Sum*>(a.values);
  Sum* const next_values = reinterpret_cast<Sum*>(a.next_values);
  const i64 columns = a.outer * a.inner;
  const i32 before = begin > 0 ? a.keys[begin - 1] : -1, after = end < a.count ? a.keys[end] : -1;
  for (i64 column = i64(blockIdx.y) * blockDim.x + threadIdx.x; column < columns; column += i64(gridDim.y) * blockDim.x) {
    const i64 o = column / a.inner, c = column - o * a.inner;
    i32 entry_keys[2] = {i32(a.bins), i32(a.bins)};
    Sum entries[2] = {neutral(), neutral()};
    i32 key = a.keys[begin];
    bool from_left = key == before;
    Sum sum = neutral();
    for (i64 t = begin; t < end; t += 8) {
      i32 keys[8];
      Sum at[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const i64 e = t + j < end ? t + j : end - 1;
        keys[j] = a.keys[e];
        const i64 number = a.numbers ? a.numbers[e] : e;
        at[j] = a.by_number ? widen(values[a.one_value ? 0 : (o * a.updates + number) * a.inner + c])
                            : partial[e * columns + column];
      }
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        if (t + j >= end) break;
        if (keys[j] != key) {
          if (from_left) {
            entry_keys[0] = key;
            entries[0] = sum;
          } else if (key < a.bins) {
            add_to(reinterpret_cast<Element*>(a.target) + (o * a.bins + key) * a.inner + c, sum);
          }
          key = keys[j];
          from_left = false;
          sum = neutral();
        }
        sum = plus(sum, at[j]);
      }
    }
    if (from_left) {
      entry_keys[0] = key;
      entries[0] = sum;
      if (key == after) entry_keys[1] = key;  // goes on: nothing may stand between its parts
    } else if (key == after) {
      entry_keys[1] = key;
      entries[1] = sum;
    } else if (key < a.bins) {
      add_to(reinterpret_cast<Element*>(a.target) + (o * a.bins + key) * a.inner + c, sum);
    }
    if (a.next_keys == nullptr) continue;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (column == 0) a.next_keys[2 * chunk + e] = entry_keys[e];
      next_values[(2 * chunk + e) * columns + column] = entries[e];
    }
  }
}
)";

KernelSource source_of(std::string name, std::string text) {
  KernelSource source;
  source.language = Language::cuda;
  source.entry = std::move(name);
  source.text = std::move(text);
  source.argument_bytes = sizeof(SortArguments);
  source.max_threads = sort_block;
  return source;
}

/// Element in memory, update, sum, and how they become one another.
std::string join_types(DType type, cuda::Prelude& prelude) {
  const DType update = compute_type(type);
  const bool is_pair = is_complex(type);
  const char* sum = is_pair ? "double2" : "double";
  std::string widen = "double(x)", element = "double(*to)", narrow = fmt::format("{}(s)", cuda::storage_type(update));
  std::string plus = "a + b", neutral = "-0.0";
  if (is_pair) {
    widen = "make_double2(x.x, x.y)";
    plus = "make_double2(a.x + b.x, a.y + b.y)";
    neutral = "make_double2(-0.0, -0.0)";
    element = "make_double2(to->x, to->y)";
    const bool wide = type == DType::c128;
    narrow = wide ? "s" : "make_float2(float(s.x), float(s.y))";
  } else if (type == DType::f16 || type == DType::bf16) {
    const char* prefix = type == DType::f16 ? "f16" : "bf16";
    element = fmt::format("double({}(*to))", prelude.use(fmt::format("{}_to_f32", prefix)));
    narrow = fmt::format("{}(float(s))", prelude.use(fmt::format("f32_to_{}", prefix)));
  }
  return fmt::format(
      "typedef {0} Element;\ntypedef {1} Update;\ntypedef {2} Sum;\n"
      "DEVICE Sum neutral() {{ return {3}; }}\nDEVICE Sum widen(Update x) {{ return {4}; }}\n"
      "DEVICE Sum plus(Sum a, Sum b) {{ return {5}; }}\n"
      "DEVICE void add_to(Element* to, Sum sum) {{\n  const Sum s = plus({6}, sum);\n  *to = {7};\n}}\n",
      cuda::storage_type(type), cuda::storage_type(update), sum, neutral, widen, plus, element, narrow);
}

}  // namespace

KernelSource emit_sort_count() {
  cuda::Prelude prelude;
  return source_of("kiln_sort_count",
                   "// digits of 8 bits in each tile of 4096 keys\n" + prelude.text() + arguments_text + count_text);
}

KernelSource emit_sort_move() {
  cuda::Prelude prelude;
  return source_of("kiln_sort_move",
                   "// keys and numbers to the places of their digits, equal digits in their order\n" + prelude.text() +
                       arguments_text + move_text);
}

KernelSource emit_join_runs(DType type) {
  cuda::Prelude prelude;
  const std::string types = join_types(type, prelude);
  return source_of("kiln_join_runs", fmt::format("// runs of equal keys, joined to elements of {}\n", name_of(type)) +
                                         prelude.text() + types + arguments_text + join_text);
}

}  // namespace kiln::codegen
