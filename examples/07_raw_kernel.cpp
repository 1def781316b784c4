// examples/07_raw_kernel.cpp -- a kernel of one's own: a tiled transpose through shared memory, compiled, checked and
// launched by kiln beside fused expressions.
//
// A warp that reads a row of a matrix reads 32 neighbouring numbers: one or two memory transactions. If it then writes
// them down a column, every number goes to a memory row of its own: 32 transactions. So a block reads a 32 x 32 tile
// row by row into shared memory, waits until all of it is there, and writes it row by row of the result, reading the
// tile down its columns. Rows of the tile have 33 numbers: with 32, a column would lie in one bank of the shared
// memory, and the 32 reads of a warp would wait for each other.
#include <kiln/kiln.h>

#include <cstdio>

namespace kl = kiln;

constexpr const char* source = R"(
constexpr int tile_edge = 32;

template <class T>
__global__ void transpose(T* out, const T* in, int rows, int columns) {
  __shared__ T tile[tile_edge][tile_edge + 1];
  int x = blockIdx.x * tile_edge + threadIdx.x;
  int y = blockIdx.y * tile_edge + threadIdx.y;
  for (int j = 0; j < tile_edge; j += blockDim.y)
    if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * tile_edge + threadIdx.x;
  y = blockIdx.x * tile_edge + threadIdx.y;
  for (int j = 0; j < tile_edge; j += blockDim.y)
    if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
)";

int main() {
  const auto transpose = kl::raw_kernel("transpose<float>", source);

  // Registers, shared memory and occupancy of any architecture; no GPU is needed for that.
  try {
    std::printf("%s\n", transpose[{.block = {32, 8}}].inspect("sm_90").explain().c_str());
  } catch (const kl::Error& error) {  // no NVRTC here
    std::printf("skipped: %s\n", error.what());
    return 0;
  }

  if (!kl::Device::cuda().is_available()) {
    std::printf("skipped the launch: %s\n", kl::Device::cuda().unavailable_reason());
    return 0;
  }
  const kl::DeviceGuard gpu(kl::Device::cuda());
  const int rows = 4000, columns = 3000;
  kl::Array<float> in = kl::arange<float>(rows * columns).reshape({rows, columns});
  kl::Array<float> out({columns, rows});
  const unsigned tiles_x = (columns + 31) / 32, tiles_y = (rows + 31) / 32;
  transpose[{.grid = {tiles_x, tiles_y}, .block = {32, 8}}](out, in, rows, columns);

  // The same in a fused expression, which kiln also runs through tiles in shared memory.
  const bool same = kl::all(out == in.t()).item();
  std::printf("%s\n", same ? "transposed" : "the two transposes differ");
  return same ? 0 : 1;
}
