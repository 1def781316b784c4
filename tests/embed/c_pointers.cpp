// tests/embed/c_pointers.cpp -- raw pointers of a host through the C interface: memory of outputs and inputs that
// overlaps in any way (case B03), and kernels of hundreds of arguments (beyond 200, 218, 222, 256).
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kiln/kiln.h>
#include <kiln/kiln_c.h>

#include "tests/support/devices.h"

namespace {

using Numbers = std::vector<std::int32_t>;

class CPointers : public OnEachDevice {
 protected:
  kiln_dl_device dl_device() const { return {on_gpu() ? KILN_DL_CUDA : KILN_DL_CPU, 0}; }
};
KILN_ON_EACH_DEVICE(CPointers);

void ok(kiln_status status) { ASSERT_EQ(status, KILN_OK) << kiln_last_error(); }

/// 2 a + b, of two inputs, or the sums of the rows of both.
kiln_kernel* kernel_of(int rank, bool sums_rows) {
  kiln_graph* graph = nullptr;
  kiln_kernel* kernel = nullptr;
  kiln_value in[2], two = 0, pair[2], result = 0;
  const std::int32_t number = 2;
  ok(kiln_graph_create(&graph));
  for (kiln_value& value : in) ok(kiln_graph_input(graph, KILN_I32, rank, &value));
  ok(kiln_graph_constant(graph, KILN_I32, &number, KILN_WEAK, &two));
  pair[0] = in[0], pair[1] = two;
  ok(kiln_graph_operation(graph, KILN_OP_mul, pair, 2, &pair[0]));
  pair[1] = in[1];
  ok(kiln_graph_operation(graph, KILN_OP_add, pair, 2, &result));
  if (sums_rows) {
    kiln_reduce_options how = {};
    const std::int32_t axis = 1;
    how.struct_size = sizeof how;
    how.axes = &axis, how.axis_count = 1;
    ok(kiln_graph_reduce(graph, KILN_REDUCE_sum, result, &how, &result));
    ok(kiln_graph_cast(graph, result, KILN_I32, &result));
  }
  ok(kiln_graph_output(graph, result));
  ok(kiln_kernel_create(graph, nullptr, &kernel));
  kiln_graph_destroy(graph);
  return kernel;
}

Numbers counted(std::size_t n) {
  Numbers values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::int32_t>(i * 2654435761u >> 12) % 10000;
  return values;
}

// Rule (kiln_c.h): outputs may overlap inputs as they like: as if all inputs had been read first. One kernel, launched
// with disjoint, equal and overlapping pointers in turn.
TEST_P(CPointers, outputs_over_inputs_at_every_distance) {
  constexpr std::int64_t n = 100'000, room = 3 * n;
  kiln_kernel* const kernel = kernel_of(1, false);
  for (const std::int64_t to : {2 * n, n, n + 1, n - 1, n + 4, n - 4, n + 1000, n - 99'999, std::int64_t{0}, n + 3}) {
    Numbers host = counted(room);
    kl::Array<std::int32_t> memory = kl::from_host(host);
    const std::int64_t shape[] = {n};
    const kiln_tensor inputs[] = {{memory.data() + n, shape, nullptr, 1, KILN_I32},
                                  {memory.data() + n / 2, shape, nullptr, 1, KILN_I32}};
    const kiln_tensor output = {memory.data() + to, shape, nullptr, 1, KILN_I32};
    ok(kiln_launch_raw(kernel, dl_device(), nullptr, inputs, 2, nullptr, 0, &output, 1));
    const Numbers before = host;
    for (std::int64_t i = 0; i < n; ++i)
      host[static_cast<std::size_t>(to + i)] =
          2 * before[static_cast<std::size_t>(n + i)] + before[static_cast<std::size_t>(n / 2 + i)];
    ASSERT_EQ(memory.to_host(), host) << "output at " << to;
  }
  kiln_kernel_destroy(kernel);
}

TEST_P(CPointers, reversed_and_transposed_outputs) {
  constexpr std::int64_t n = 300;
  kiln_kernel* const kernel = kernel_of(2, false);
  struct Layout {
    std::int64_t offset, strides[2];
  };
  for (const Layout& to : {Layout{0, {n, 1}}, Layout{0, {1, n}}, Layout{n * n - 1, {-n, -1}}, Layout{n - 1, {n, -1}},
                           Layout{5, {n, 1}}, Layout{n * (n - 1), {1, -n}}}) {
    Numbers host = counted(n * n + 5);
    kl::Array<std::int32_t> memory = kl::from_host(host);
    const std::int64_t shape[] = {n, n}, turned[] = {1, n};
    const kiln_tensor inputs[] = {{memory.data(), shape, nullptr, 2, KILN_I32},
                                  {memory.data(), shape, turned, 2, KILN_I32}};
    const kiln_tensor output = {memory.data() + to.offset, shape, to.strides, 2, KILN_I32};
    ok(kiln_launch_raw(kernel, dl_device(), nullptr, inputs, 2, nullptr, 0, &output, 1));
    const Numbers before = host;
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t c = 0; c < n; ++c)
        host[static_cast<std::size_t>(to.offset + r * to.strides[0] + c * to.strides[1])] =
            2 * before[static_cast<std::size_t>(r * n + c)] + before[static_cast<std::size_t>(c * n + r)];
    ASSERT_EQ(memory.to_host(), host) << to.offset << ", " << to.strides[0] << ", " << to.strides[1];
  }
  kiln_kernel_destroy(kernel);
}

TEST_P(CPointers, sums_stored_over_the_rows_they_are_of) {
  constexpr std::int64_t rows = 500, columns = 70;
  kiln_kernel* const kernel = kernel_of(2, true);
  for (const std::int64_t to : {rows * columns, std::int64_t{0}, std::int64_t{1}, 3 * columns, rows * columns - rows}) {
    Numbers host = counted(rows * columns + rows);
    kl::Array<std::int32_t> memory = kl::from_host(host);
    const std::int64_t shape[] = {rows, columns}, row_shape[] = {rows};
    const kiln_tensor inputs[] = {{memory.data(), shape, nullptr, 2, KILN_I32},
                                  {memory.data(), shape, nullptr, 2, KILN_I32}};
    const kiln_tensor output = {memory.data() + to, row_shape, nullptr, 1, KILN_I32};
    ok(kiln_launch_raw(kernel, dl_device(), nullptr, inputs, 2, nullptr, 0, &output, 1));
    const Numbers before = host;
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int32_t sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) sum += 3 * before[static_cast<std::size_t>(r * columns + c)];
      host[static_cast<std::size_t>(to + r)] = sum;
    }
    ASSERT_EQ(memory.to_host(), host) << "sums at " << to;
  }
  kiln_kernel_destroy(kernel);
}

/// Sums of k-th inputs times k, and a second result, so that every pointer and stride has to be in its place.
void check_many(std::size_t count, kiln_dl_device device) {
  constexpr std::int64_t n = 1003;
  kiln_graph* graph = nullptr;
  kiln_kernel* kernel = nullptr;
  ok(kiln_graph_create(&graph));
  std::vector<kiln_value> inputs(count);
  for (kiln_value& input : inputs) ok(kiln_graph_input(graph, KILN_I64, 1, &input));
  kiln_value total = inputs[0], other = inputs[0];
  for (std::size_t k = 1; k < count; ++k) {
    kiln_value number = 0, pair[2];
    const auto factor = static_cast<std::int64_t>(k);
    ok(kiln_graph_constant(graph, KILN_I64, &factor, KILN_WEAK, &number));
    pair[0] = inputs[k], pair[1] = number;
    ok(kiln_graph_operation(graph, KILN_OP_mul, pair, 2, &pair[0]));
    pair[1] = total;
    ok(kiln_graph_operation(graph, KILN_OP_add, pair, 2, &total));
    pair[0] = inputs[k], pair[1] = other;
    ok(kiln_graph_operation(graph, KILN_OP_bit_xor, pair, 2, &other));
  }
  ok(kiln_graph_output(graph, total));
  ok(kiln_graph_output(graph, other));
  ok(kiln_kernel_create(graph, nullptr, &kernel));
  kiln_graph_destroy(graph);
  std::vector<kl::Array<std::int64_t>> arrays;
  std::vector<kiln_tensor> tensors;
  std::vector<std::int64_t> want(n), want_other(n), step = {2};
  const std::int64_t shape[] = {n};
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<std::int64_t> values(2 * n);  // every third input is every second element
    for (std::int64_t i = 0; i < 2 * n; ++i)
      values[static_cast<std::size_t>(i)] = (i * 40503 + static_cast<std::int64_t>(k) * 2971) % 65521;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t value = values[static_cast<std::size_t>(k % 3 ? i : 2 * i)];
      want[static_cast<std::size_t>(i)] += value * static_cast<std::int64_t>(k ? k : 1);
      want_other[static_cast<std::size_t>(i)] ^= value;
    }
    arrays.push_back(kl::from_host(values));
    tensors.push_back({arrays.back().data(), shape, k % 3 ? nullptr : step.data(), 1, KILN_I64});
  }
  kl::Array<std::int64_t> sum({n}), joined({n});
  const kiln_tensor outputs[] = {{sum.data(), shape, nullptr, 1, KILN_I64},
                                 {joined.data(), shape, nullptr, 1, KILN_I64}};
  for (int repeat = 0; repeat < 2; ++repeat) {
    ok(kiln_launch_raw(kernel, device, nullptr, tensors.data(), count, nullptr, 0, outputs, 2));
    EXPECT_EQ(sum.to_host(), want) << count << " inputs";
    EXPECT_EQ(joined.to_host(), want_other) << count << " inputs";
    std::swap(tensors[3], tensors[4]);  // other layouts, and other values for the factors 3 and 4
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = [&](std::size_t k) {
        return (i * (k % 3 ? 1 : 2) * 40503 + static_cast<std::int64_t>(k) * 2971) % 65521;
      };
      want[static_cast<std::size_t>(i)] += (repeat ? -1 : 1) * (at(3) - at(4));
    }
  }
  kiln_kernel_destroy(kernel);
}

TEST_P(CPointers, kernels_of_hundreds_of_arguments) {
  for (const std::size_t count : {16u, 64u, 200u, 218u, 222u, 254u, 255u, 256u, 257u, 400u}) {
    check_many(count, dl_device());
    if (HasFailure()) return;
  }
}

}  // namespace
