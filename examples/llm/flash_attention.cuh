// examples/llm/flash_attention.cuh -- attention that never stores its scores: one pass over the keys, tensor cores throughout.
//
// A block of threads holds `Rows` queries in shared memory and walks over the keys and values, `Columns` at a time. The
// scores of one step live in registers; a running maximum and sum per row make their softmax right as further keys come
// ("online" softmax: Milakov and Gimelshein 2018; the tiling is that of Dao's FlashAttention-2, 2023).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace flash {

__device__ inline float lowest() { return __int_as_float(0xff800000); }  // minus infinity

struct Sizes {
  int queries, keys;          // positions of one head
  int heads, heads_per_group; // of the queries; heads of one group share keys and values
  float scale;                // of the products of queries and keys, times log2(e)
};

// ---- what the hardware does, one function per instruction

// Asks for 16 bytes of global memory; zeros where `inside` is false. copies_started() ends a group of such copies.
__device__ inline void copy_16_bytes(unsigned shared, const void* global, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(inside ? 16 : 0));
}
__device__ inline void copies_started() { asm volatile("cp.async.commit_group;"); }
template <int Open>  // waits until at most so many groups are under way
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Open));
}

// Four 8x8 matrices of 16-bit numbers: lane i names the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices(unsigned (&to)[4], unsigned shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared));
}
__device__ inline void load_transposed(unsigned (&to)[4], unsigned shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared));
}

// sum[16x8] += a[16x16] * b[16x8], in f32.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ inline unsigned packed(float low, float high, __nv_bfloat16) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}
__device__ inline unsigned packed(float low, float high, __half) {
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- tiles in shared memory: rows of `Head` numbers in pieces of 16 bytes, which are exchanged within the row so that
// eight rows of one column lie in different banks

template <int Head>
__device__ inline unsigned place(unsigned tile, int row, int piece) {
  return tile + row * (Head * 2) + ((piece ^ (row & 7)) << 4);
}

template <int Head, int Count, int Threads, class T>
__device__ inline void load_tile(unsigned tile, const T* from, int first, int end) {
  constexpr int pieces = Head / 8, rows_at_once = Threads / pieces;
  const int row = threadIdx.x / pieces, piece = threadIdx.x % pieces;
#pragma unroll
  for (int r = row; r < Count; r += rows_at_once) {
    const bool inside = first + r < end;
    copy_16_bytes(place<Head>(tile, r, piece), from + static_cast<long long>(inside ? first + r : 0) * Head + piece * 8, inside);
  }
}

// out[batch, head, query, Head] = softmax(scale * q k^T) v, and the natural logarithm of each row's sum of exponentials.
// With Causal, query i sees the keys up to i + keys - queries. Grid: blocks of queries, heads, batch.
template <class T, int Head, int Rows, int Columns, int Warps, bool Causal>
__global__ __launch_bounds__(Warps * 32) void forward(T* out, float* log_sums, const T* q, const T* k, const T* v, Sizes sizes) {
  constexpr int row_tiles = Rows / (16 * Warps);  // of 16 rows each, per warp
  constexpr int column_tiles = Columns / 8, head_tiles = Head / 8, threads = Warps * 32;
  extern __shared__ __align__(128) unsigned char memory[];
  const unsigned queries = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  const unsigned keys = queries + Rows * Head * 2, values = keys + Columns * Head * 2;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group = lane / 4, pair = 2 * (lane % 4);  // this lane's row and first column in a tile of results

  // The last blocks of a causal matrix have most keys: they start first.
  const int first_row = (Causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Rows;
  const long long head = static_cast<long long>(blockIdx.z) * sizes.heads + blockIdx.y;
  const long long key_head = (static_cast<long long>(blockIdx.z) * sizes.heads + blockIdx.y) / sizes.heads_per_group;
  q += head * sizes.queries * Head;
  out += head * sizes.queries * Head;
  k += key_head * sizes.keys * Head;
  v += key_head * sizes.keys * Head;
  const int shift = sizes.keys - sizes.queries;  // query i sees keys up to i + shift
  const int key_end = Causal ? min(sizes.keys, first_row + Rows + shift) : sizes.keys;
  const int unmasked_end = Causal ? min(sizes.keys, first_row + 1 + shift) : sizes.keys;

  float sums[row_tiles][head_tiles][4] = {};
  float largest[row_tiles][2], total[row_tiles][2];
  for (int i = 0; i < row_tiles; ++i) {
    largest[i][0] = largest[i][1] = lowest();
    total[i][0] = total[i][1] = 0;
  }
  load_tile<Head, Rows, threads>(queries, q, first_row, sizes.queries);
  load_tile<Head, Columns, threads>(keys, k, 0, key_end);
  copies_started();

  for (int first_key = 0; first_key < key_end; first_key += Columns) {
    wait_for_copies<0>();
    __syncthreads();  // these keys are here, and everybody has done with the values before
    load_tile<Head, Columns, threads>(values, v, first_key, key_end);
    copies_started();

    float scores[row_tiles][column_tiles][4] = {};
#pragma unroll
    for (int step = 0; step < Head / 16; ++step) {
      unsigned a[row_tiles][4];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
        load_matrices(a[i], place<Head>(queries, (warp * row_tiles + i) * 16 + lane % 16, 2 * step + lane / 16));
#pragma unroll
      for (int j = 0; j < column_tiles; j += 2) {
        unsigned b[4];
        load_matrices(b, place<Head>(keys, j * 8 + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < row_tiles; ++i) {
          multiply_add(scores[i][j], a[i], b[0], b[1], T());
          multiply_add(scores[i][j + 1], a[i], b[2], b[3], T());
        }
      }
    }
    __syncthreads();  // everybody has done with these keys
    if (first_key + Columns < key_end) load_tile<Head, Columns, threads>(keys, k, first_key + Columns, key_end);
    copies_started();

    if (first_key + Columns > unmasked_end) {
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < column_tiles; ++j)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = first_row + (warp * row_tiles + i) * 16 + group + e / 2 * 8;
            const int column = first_key + j * 8 + pair + e % 2;
            if (column >= sizes.keys || (Causal && column > row + shift)) scores[i][j][e] = lowest();
          }
    }
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // rows group and group + 8 of this tile
        float most = largest[i][half];
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) most = fmaxf(most, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float base = most == lowest() ? 0 : most * sizes.scale;  // of a row that sees no key yet
        const float kept = power_of_two(largest[i][half] * sizes.scale - base);
        largest[i][half] = most;
        total[i][half] *= kept;
#pragma unroll
        for (int h = 0; h < head_tiles; ++h) {
          sums[i][h][2 * half] *= kept;
          sums[i][h][2 * half + 1] *= kept;
        }
#pragma unroll
        for (int j = 0; j < column_tiles; ++j) {
          scores[i][j][2 * half] = power_of_two(scores[i][j][2 * half] * sizes.scale - base);
          scores[i][j][2 * half + 1] = power_of_two(scores[i][j][2 * half + 1] * sizes.scale - base);
          total[i][half] += scores[i][j][2 * half] + scores[i][j][2 * half + 1];
        }
      }
    }
    wait_for_copies<1>();
    __syncthreads();  // these values are here
#pragma unroll
    for (int step = 0; step < Columns / 16; ++step) {
      unsigned a[row_tiles][4];
#pragma unroll
      for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          a[i][e] = packed(scores[i][2 * step + e / 2][e % 2 * 2], scores[i][2 * step + e / 2][e % 2 * 2 + 1], T());
#pragma unroll
      for (int h = 0; h < head_tiles; h += 2) {
        unsigned b[4];
        load_transposed(b, place<Head>(values, step * 16 + lane % 16, h + lane / 16));
#pragma unroll
        for (int i = 0; i < row_tiles; ++i) {
          multiply_add(sums[i][h], a[i], b[0], b[1], T());
          multiply_add(sums[i][h + 1], a[i], b[2], b[3], T());
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < row_tiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = total[i][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int row = first_row + (warp * row_tiles + i) * 16 + group + 8 * half;
      if (row >= sizes.queries) continue;
      const float factor = sum == 0 ? 0 : 1 / sum;
      unsigned* const to = reinterpret_cast<unsigned*>(out + static_cast<long long>(row) * Head + pair);
#pragma unroll
      for (int h = 0; h < head_tiles; ++h) to[h * 4] = packed(sums[i][h][2 * half] * factor, sums[i][h][2 * half + 1] * factor, T());
      if (lane % 4 == 0)
        log_sums[head * sizes.queries + row] = largest[i][half] * sizes.scale * 0.6931471805599453f + __logf(sum);
    }
  }
}

}  // namespace flash
