// tests/embed/c_interface.c -- the C interface from C99 on the CPU: graphs, texts, launches, and what is refused.
#include "c_test.h"

#include <math.h>

static kiln_graph* new_graph(void) {
  kiln_graph* graph = NULL;
  OK(kiln_graph_create(&graph));
  return graph;
}

// softmax(x * scale) along the last axis, and its input's row sums in f64.
static kiln_graph* softmax_graph(void) {
  kiln_graph* graph = new_graph();
  kiln_value x, scale, largest, pair[2], e, total, p, sums;
  const int32_t last = -1;
  kiln_reduce_options rows = {0};
  rows.struct_size = sizeof rows;
  rows.axes = &last;
  rows.axis_count = 1;
  rows.keepdims = 1;
  OK(kiln_graph_set_name(graph, "softmax"));
  OK(KILN_GRAPH_HERE(graph));
  OK(kiln_graph_input(graph, KILN_F32, 2, &x));
  OK(kiln_graph_scalar(graph, KILN_F64, KILN_WEAK, &scale));
  pair[0] = x, pair[1] = scale;
  OK(kiln_graph_operation(graph, KILN_OP_mul, pair, 2, &x));
  OK(kiln_graph_reduce(graph, KILN_REDUCE_max, x, &rows, &largest));
  pair[0] = x, pair[1] = largest;
  OK(kiln_graph_operation_by_name(graph, "sub", pair, 2, &e));
  OK(kiln_graph_operation(graph, KILN_OP_exp, &e, 1, &e));
  OK(kiln_graph_reduce(graph, KILN_REDUCE_sum, e, &rows, &total));
  pair[0] = e, pair[1] = total;
  OK(kiln_graph_operation(graph, KILN_OP_div, pair, 2, &p));
  OK(kiln_graph_output(graph, p));
  rows.keepdims = 0;
  rows.uses_accumulate = 1;
  rows.accumulate = KILN_F64;
  OK(kiln_graph_reduce(graph, KILN_REDUCE_sum, x, &rows, &sums));
  OK(kiln_graph_output(graph, sums));
  return graph;
}

enum { rows_count = 3, columns = 5 };

static void fill(float* x) {
  for (int i = 0; i < rows_count * columns; ++i) x[i] = (float)(i % 7) - 2.5f;
}

static void check_softmax(const float* x, const float* p, const double* sums, double scale) {
  for (int r = 0; r < rows_count; ++r) {
    double total = 0, sum = 0;
    for (int c = 0; c < columns; ++c) total += exp(x[r * columns + c] * scale), sum += x[r * columns + c] * scale;
    for (int c = 0; c < columns; ++c) CHECK(fabs(p[r * columns + c] - exp(x[r * columns + c] * scale) / total) < 1e-6);
    CHECK(fabs(sums[r] - sum) < 1e-5);
  }
}

static kiln_dl_tensor dl(void* data, int32_t ndim, int64_t* shape, uint8_t code, uint8_t bits) {
  kiln_dl_tensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = KILN_DL_CPU;
  tensor.ndim = ndim;
  tensor.shape = shape;
  tensor.dtype.code = code;
  tensor.dtype.bits = bits;
  tensor.dtype.lanes = 1;
  return tensor;
}

// Raw pointers, DLTensors with an offset and turned strides, and new tensors give the same values.
static void test_launches(void) {
  kiln_graph* graph = softmax_graph();
  kiln_kernel* kernel = NULL;
  OK(kiln_kernel_create(graph, NULL, &kernel));
  kiln_graph_destroy(graph);  // the kernel has its own copy

  float x[1 + rows_count * columns], p[rows_count * columns];
  double sums[rows_count], scale = 0.5;
  const void* scalars[] = {&scale};
  int64_t shape[] = {rows_count, columns}, row_shape[] = {rows_count};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  fill(x);
  {
    const kiln_tensor input = {x, shape, NULL, 2, KILN_F32};
    const kiln_tensor outputs[] = {{p, shape, NULL, 2, KILN_F32}, {sums, row_shape, NULL, 1, KILN_F64}};
    OK(kiln_launch_raw(kernel, cpu, NULL, &input, 1, scalars, 1, outputs, 2));
    check_softmax(x, p, sums, scale);
    scale = -1.25;  // a run-time parameter: nothing is compiled
    kiln_cache_stats before = {0}, after = {0};
    before.struct_size = after.struct_size = sizeof before;
    OK(kiln_cache_get_stats(&before));
    OK(kiln_launch_raw(kernel, cpu, NULL, &input, 1, scalars, 1, outputs, 2));
    OK(kiln_cache_get_stats(&after));
    CHECK(before.compiles == after.compiles);
    check_softmax(x, p, sums, scale);
  }
  {
    memset(p, 0, sizeof p);
    float turned[columns * rows_count];
    int64_t strides[] = {1, rows_count};
    for (int r = 0; r < rows_count; ++r)
      for (int c = 0; c < columns; ++c) turned[c * rows_count + r] = x[r * columns + c];
    memmove(x + 1, x, rows_count * columns * sizeof *x);
    kiln_dl_tensor input = dl(x, 2, shape, KILN_DL_FLOAT, 32), output = dl(p, 2, shape, KILN_DL_FLOAT, 32);
    kiln_dl_tensor total = dl(sums, 1, row_shape, KILN_DL_FLOAT, 64);
    input.byte_offset = sizeof *x;
    const kiln_dl_tensor *inputs[] = {&input}, *outputs[] = {&output, &total};
    OK(kiln_launch(kernel, NULL, inputs, 1, scalars, 1, outputs, 2));
    check_softmax(x + 1, p, sums, scale);
    memset(p, 0, sizeof p);
    input = dl(turned, 2, shape, KILN_DL_FLOAT, 32);
    input.strides = strides;
    OK(kiln_launch(kernel, NULL, inputs, 1, scalars, 1, outputs, 2));
    check_softmax(x + 1, p, sums, scale);

    kiln_dl_managed_tensor_versioned* results[2] = {NULL, NULL};
    OK(kiln_launch_new(kernel, NULL, inputs, 1, scalars, 1, results, 2));
    CHECK(results[0]->version.major == 1 && results[0]->dl_tensor.ndim == 2 &&
          results[0]->dl_tensor.shape[1] == columns);
    CHECK(results[1]->dl_tensor.dtype.code == KILN_DL_FLOAT && results[1]->dl_tensor.dtype.bits == 64);
    CHECK(results[0]->dl_tensor.strides[0] == columns && results[0]->flags == 0);
    check_softmax(x + 1, (const float*)results[0]->dl_tensor.data, (const double*)results[1]->dl_tensor.data, scale);
    for (int i = 0; i < 2; ++i) results[i]->deleter(results[i]);
  }
  kiln_kernel_destroy(kernel);
}

// Writing over an input behaves as if the right side were complete first.
static void test_in_place(void) {
  kiln_graph* graph = new_graph();
  kiln_kernel* kernel = NULL;
  kiln_value x, y, pair[2];
  const int32_t axis = 0;
  OK(kiln_graph_input(graph, KILN_I32, 1, &x));
  OK(kiln_graph_flip(graph, x, &axis, 1, &y));
  pair[0] = x, pair[1] = y;
  OK(kiln_graph_operation(graph, KILN_OP_add, pair, 2, &y));
  OK(kiln_graph_output(graph, y));
  OK(kiln_kernel_create(graph, NULL, &kernel));
  int32_t values[] = {1, 20, 300, 4000};
  const int64_t shape[] = {4};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const kiln_tensor tensor = {values, shape, NULL, 1, KILN_I32};
  OK(kiln_launch_raw(kernel, cpu, NULL, &tensor, 1, NULL, 0, &tensor, 1));
  CHECK(values[0] == 4001 && values[1] == 320 && values[2] == 320 && values[3] == 4001);
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
}

// No axes, no elements, inputs without an operation.
static void test_edges(void) {
  kiln_graph* graph = new_graph();
  kiln_kernel* kernel = NULL;
  kiln_value x, total;
  OK(kiln_graph_input(graph, KILN_F64, 2, &x));
  OK(kiln_graph_reduce(graph, KILN_REDUCE_sum, x, NULL, &total));
  OK(kiln_graph_output(graph, total));
  OK(kiln_kernel_create(graph, NULL, &kernel));
  double value = 7;
  int64_t shape[] = {0, 3};
  kiln_dl_tensor input = dl(NULL, 2, shape, KILN_DL_FLOAT, 64), output = dl(&value, 0, NULL, KILN_DL_FLOAT, 64);
  const kiln_dl_tensor *inputs[] = {&input}, *outputs[] = {&output};
  OK(kiln_launch(kernel, NULL, inputs, 1, NULL, 0, outputs, 1));
  CHECK(value == 0);
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
}

static void test_scatter(void) {
  float target[] = {0, 0, 0, 0}, updates[] = {1, 2, 4, 8, 16};
  int32_t indices[] = {3, 0, 3, -1, 9};  // the last one is outside
  int64_t four[] = {4}, five[] = {5};
  kiln_dl_tensor to = dl(target, 1, four, KILN_DL_FLOAT, 32), at = dl(indices, 1, five, KILN_DL_INT, 32);
  kiln_dl_tensor from = dl(updates, 1, five, KILN_DL_FLOAT, 32);
  OK(kiln_scatter(KILN_SCATTER_add, NULL, &to, 0, &at, &from));
  CHECK(target[0] == 2 && target[1] == 0 && target[2] == 0 && target[3] == 1 + 4 + 8);
  OK(kiln_scatter(KILN_SCATTER_max, NULL, &to, 0, &at, &from));
  CHECK(target[0] == 2 && target[3] == 13);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_scatter(9, NULL, &to, 0, &at, &from));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_scatter(KILN_SCATTER_add, NULL, &to, 0, &from, &from));
}

// Two values joined at once by a function of the host: the largest value and where it was.
static void test_reduce_by(void) {
  kiln_graph *graph = new_graph(), *function = new_graph();
  kiln_value a[4], better, values[2], identities[2], results[2], x, best[2], pick[3];
  const double lowest = -1e300;
  const int64_t none = INT64_MAX;
  for (int i = 0; i < 4; ++i) OK(kiln_graph_input(function, i % 2 ? KILN_I64 : KILN_F64, 0, &a[i]));
  pick[0] = a[2], pick[1] = a[0];
  OK(kiln_graph_operation(function, KILN_OP_gt, pick, 2, &better));
  for (int i = 0; i < 2; ++i) {
    pick[0] = better, pick[1] = a[2 + i], pick[2] = a[i];
    OK(kiln_graph_operation(function, KILN_OP_where, pick, 3, &best[i]));
    OK(kiln_graph_output(function, best[i]));
  }
  OK(kiln_graph_input(graph, KILN_F64, 1, &x));
  values[0] = x;
  OK(kiln_graph_index(graph, x, 0, &values[1]));
  OK(kiln_graph_constant(graph, KILN_F64, &lowest, KILN_WEAK, &identities[0]));
  OK(kiln_graph_constant(graph, KILN_I64, &none, KILN_WEAK, &identities[1]));
  OK(kiln_graph_reduce_by(graph, function, values, identities, 2, NULL, results));
  CHECK(results[1] == results[0] + 1);
  OK(kiln_graph_output(graph, results[0]));
  OK(kiln_graph_output(graph, results[1]));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_reduce_by(graph, function, values, identities, 1, NULL, results));
  CHECK_MESSAGE("function");

  char text[4096];
  size_t length = 0;
  kiln_graph* read = NULL;
  OK(kiln_graph_text(graph, text, sizeof text, &length));
  OK(kiln_graph_parse(text, length, &read));
  kiln_kernel* kernel = NULL;
  OK(kiln_kernel_create(read, NULL, &kernel));
  double data[] = {3, 9, -1, 4}, largest = 0;
  int64_t where = -1, shape[] = {4};
  const kiln_tensor input = {data, shape, NULL, 1, KILN_F64};
  const kiln_tensor outputs[] = {{&largest, NULL, NULL, 0, KILN_F64}, {&where, NULL, NULL, 0, KILN_I64}};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  OK(kiln_launch_raw(kernel, cpu, NULL, &input, 1, NULL, 0, outputs, 2));
  CHECK(largest == 9 && where == 1);
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(read);
  kiln_graph_destroy(function);
  kiln_graph_destroy(graph);
}

static void test_inspection(void) {
  kiln_graph* graph = softmax_graph();
  kiln_kernel* kernel = NULL;
  kiln_inspection* inspection = NULL;
  const char* text = NULL;
  OK(kiln_kernel_create(graph, NULL, &kernel));
  int64_t shape[] = {rows_count, columns};
  kiln_dl_tensor input = dl(NULL, 2, shape, KILN_DL_FLOAT, 32);
  float x[rows_count * columns];
  fill(x);
  input.data = x;
  const kiln_dl_tensor* inputs[] = {&input};
  OK(kiln_inspect(kernel, NULL, inputs, 1, NULL, 0, &inspection));
  CHECK(kiln_inspection_kernel_count(inspection) >= 1);
  OK(kiln_inspection_text(inspection, KILN_TEXT_source, 0, &text));
  CHECK(strstr(text, "define"));
  OK(kiln_inspection_text(inspection, KILN_TEXT_graph, 0, &text));
  CHECK(strstr(text, "exp"));
  OK(kiln_inspection_text(inspection, KILN_TEXT_explain, 0, &text));
  CHECK(text[0]);
  kiln_kernel_info info = {0};
  info.struct_size = sizeof info;
  OK(kiln_inspection_kernel(inspection, 0, &info));
  CHECK(info.bytes_moved > 0);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_inspection_text(inspection, 99, 0, &text));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_inspection_text(inspection, KILN_TEXT_source, 99, &text));
  kiln_inspection_destroy(inspection);
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
}

int main(void) {
  CHECK(kiln_abi_version() == KILN_ABI_VERSION);
  test_launches();
  test_in_place();
  test_edges();
  test_scatter();
  test_reduce_by();
  test_inspection();
  if (failures == 0) puts("all checks passed");
  return failures ? 1 : 0;
}
