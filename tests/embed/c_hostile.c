// tests/embed/c_hostile.c -- numbers that no caller means, from a host that has lost its way: counts that would lead
// beyond its arrays, extents and strides that overflow, devices that do not exist. Part of c_arguments.c; the
// sanitizers see what is read.
#include <stdint.h>

#include "c_test.h"

static kiln_graph* graph;
static kiln_value x;  // f32, two axes

// As long as it says, on the heap: one item more is not the program's.
static void* exactly(const void* values, size_t bytes) {
  void* const copy = malloc(bytes);
  if (copy) memcpy(copy, values, bytes);
  return copy;
}

static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 8, (size_t)1 << 33, (size_t)1 << 20};

// Each list has one item. Nothing is read before the count is refused, and no result is written.
#define REFUSED(call)          \
  do {                         \
    CHECK((call) != KILN_OK);  \
    CHECK(*kiln_last_error()); \
    CHECK(v == 77);            \
  } while (0)

static void test_counts_of_graphs(void) {
  const int32_t zero = 0;
  const int64_t one = 1;
  const kiln_slice whole = {0, 0, 0, 1};
  kiln_value* const values = exactly(&x, sizeof x);
  int32_t* const axes = exactly(&zero, sizeof zero);
  int64_t* const extents = exactly(&one, sizeof one);
  kiln_slice* const items = exactly(&whole, sizeof whole);
  kiln_reduce_options options = {0};
  kiln_value v = 77;
  options.struct_size = sizeof options;
  options.axes = axes;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const size_t count = counts[i];
    REFUSED(kiln_graph_operation(graph, KILN_OP_neg, values, count, &v));
    REFUSED(kiln_graph_operation(graph, KILN_OP_where, values, count, &v));
    REFUSED(kiln_graph_operation_by_name(graph, "fma", values, count, &v));
    REFUSED(kiln_graph_reduce_by(graph, graph, values, values, count, NULL, &v));
    REFUSED(kiln_graph_scan_by(graph, graph, values, values, count, 0, &v));
    REFUSED(kiln_graph_shift(graph, x, extents, count, KILN_BEYOND_wrap, KILN_NO_VALUE, &v));
    REFUSED(kiln_graph_transpose(graph, x, axes, count, &v));
    REFUSED(kiln_graph_squeeze(graph, x, axes, count, &v));
    REFUSED(kiln_graph_unsqueeze(graph, x, axes, count, &v));
    REFUSED(kiln_graph_flip(graph, x, axes, count, &v));
    REFUSED(kiln_graph_reshape(graph, x, extents, count, &v));
    REFUSED(kiln_graph_broadcast_to(graph, x, extents, count, &v));
    REFUSED(kiln_graph_slice(graph, x, items, count, &v));
    options.axis_count = count;
    REFUSED(kiln_graph_reduce(graph, KILN_REDUCE_sum, x, &options, &v));
    REFUSED(kiln_graph_reduce_by(graph, graph, values, values, 1, &options, &v));
  }
  free(values), free(axes), free(extents), free(items);
}

static void test_counts_of_kernels(void) {
  const char* const word = "sm_80";
  const float data = 1;
  const int64_t extents[] = {1, 1};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const kiln_argument number = {KILN_ARGUMENT_number, KILN_F32, &data, 0};
  kiln_tensor tensor = {(void*)(uintptr_t)&data, extents, NULL, 2, KILN_F32};
  const char** const words = exactly((const void*)&word, sizeof word);
  kiln_argument* const arguments = exactly(&number, sizeof number);
  kiln_tensor* const tensors = exactly(&tensor, sizeof tensor);
  const void** const nothing = (const void**)exactly((const void*)&word, sizeof word);
  kiln_kernel* kernel = NULL;
  kiln_raw_kernel *raw = NULL, *none = NULL;
  kiln_graph* parsed = NULL;
  kiln_inspection* inspection = NULL;
  const kiln_value v = 77;
  OK(kiln_kernel_create(graph, NULL, &kernel));
  OK(kiln_raw_kernel_create("f", "__global__ void f(float) {}", NULL, &raw));
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const size_t count = counts[i];
    kiln_raw_options options = {0};
    options.struct_size = sizeof options;
    REFUSED(kiln_kernel_compile(kernel, words, count));
    REFUSED(kiln_raw_kernel_compile(raw, words, count));
    REFUSED(kiln_raw_kernel_launch(raw, cpu, NULL, NULL, 1, arguments, count));
    options.options = words, options.option_count = count;
    REFUSED(kiln_raw_kernel_create("f", "", &options, &none));
    options.option_count = 0, options.header_names = options.header_texts = words, options.header_count = count;
    REFUSED(kiln_raw_kernel_create("f", "", &options, &none));
    REFUSED(kiln_graph_parse_with("kiln graph 1\n", SIZE_MAX, (const kiln_function* const*)nothing, count, &parsed));
    REFUSED(kiln_launch_raw(kernel, cpu, NULL, tensors, count, NULL, 0, tensors, 1));
    REFUSED(kiln_launch_raw(kernel, cpu, NULL, tensors, 1, nothing, count, tensors, 1));
    REFUSED(kiln_launch_raw(kernel, cpu, NULL, tensors, 1, NULL, 0, tensors, count));
    REFUSED(kiln_launch(kernel, NULL, (const kiln_dl_tensor* const*)nothing, count, NULL, 0,
                        (const kiln_dl_tensor* const*)nothing, 1));
    REFUSED(kiln_inspect(kernel, "sm_80", (const kiln_dl_tensor* const*)nothing, count, NULL, 0, &inspection));
  }
  CHECK(none == NULL && parsed == NULL && inspection == NULL);
  {
    char* const text = exactly("kiln graph 1\n", 13);
    REFUSED(kiln_graph_parse(text, SIZE_MAX - 1, &parsed));
    REFUSED(kiln_graph_parse(text, SIZE_MAX / 2 + 1, &parsed));
    REFUSED(kiln_bundle_load_memory((const void*)(uintptr_t)64, SIZE_MAX, NULL));
    REFUSED(kiln_bundle_load_memory((const void*)(uintptr_t)64, 0, NULL));
    free(text);
  }
  kiln_kernel_destroy(kernel);
  kiln_raw_kernel_destroy(raw);
  free((void*)words), free(arguments), free(tensors), free((void*)nothing);
}

static void test_axes(void) {
  static const int32_t odd[] = {INT32_MIN, INT32_MIN + 1, INT32_MAX, -3, 2};
  static const char* const texts[] = {
      "%1 = index %0 axis=4294967296",  "%1 = index %0 axis=-4294967296",
      "%1 = extent %0 axis=4294967297", "%1 = cumsum %0 axis=4294967296",
      "%1 = sum %0 axes=[4294967296]",  "%1 = transpose %0 axes=[0, 4294967297]",
      "%1 = flip %0 axes=[4294967296]", "%1 = take %0, %0 axis=4294967296 outside=clip"};
  kiln_value v = 77;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
    kiln_reduce_options options = {0};
    options.struct_size = sizeof options, options.axes = &odd[i], options.axis_count = 1;
    REFUSED(kiln_graph_index(graph, x, odd[i], &v));
    if (odd[i] != KILN_ALL_AXES) REFUSED(kiln_graph_extent(graph, x, odd[i], &v));
    REFUSED(kiln_graph_scan(graph, KILN_SCAN_cumsum, x, odd[i], &v));
    REFUSED(kiln_graph_reduce(graph, KILN_REDUCE_sum, x, &options, &v));
    REFUSED(kiln_graph_flip(graph, x, &odd[i], 1, &v));
    REFUSED(kiln_graph_squeeze(graph, x, &odd[i], 1, &v));
    REFUSED(kiln_graph_unsqueeze(graph, x, odd[i] == 2 ? &odd[0] : odd[i] == -3 ? &odd[1] : &odd[i], 1, &v));
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    char text[200];
    kiln_graph* parsed = NULL;
    snprintf(text, sizeof text, "kiln graph 1\n%%0 = input type=i64 rank=2\n%s\n", texts[i]);
    CHECK_STATUS(KILN_ERROR_PARSE, kiln_graph_parse(text, SIZE_MAX, &parsed));
    CHECK_MESSAGE("line 3");
    CHECK(parsed == NULL);
  }
}

// Launches a graph of one view of a 2 by 3 tensor into a new one.
static kiln_status launch_view(kiln_graph* made, kiln_value result) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3};
  kiln_dl_tensor tensor = {0};
  const kiln_dl_tensor* const input = &tensor;
  kiln_dl_managed_tensor_versioned* output = NULL;
  kiln_kernel* kernel = NULL;
  kiln_status status = kiln_graph_output(made, result);
  tensor.data = data, tensor.device.device_type = KILN_DL_CPU, tensor.ndim = 2, tensor.shape = shape;
  tensor.dtype.code = KILN_DL_FLOAT, tensor.dtype.bits = 32, tensor.dtype.lanes = 1;
  if (!status) status = kiln_kernel_create(made, NULL, &kernel);
  if (!status) status = kiln_launch_new(kernel, NULL, &input, 1, NULL, 0, &output, 1);
  if (output) output->deleter(output);
  kiln_kernel_destroy(kernel);
  return status;
}

// What is wrong with extents is often known only where there are some.
static void test_extents(void) {
  static const int64_t far[] = {INT64_MIN,     INT64_MIN + 1,    INT64_MAX,
                                INT64_MAX - 1, (int64_t)1 << 62, -((int64_t)1 << 62)};
  const size_t numbers = sizeof far / sizeof *far;
  for (size_t i = 0; i < numbers * numbers; ++i) {
    const int64_t a = far[i / numbers], b = far[i % numbers], both[] = {a, b}, spread[] = {a, 2, 3};
    const kiln_slice item = {KILN_SLICE_HAS_START | KILN_SLICE_HAS_STOP, a, b, a == INT64_MIN ? b : a};
    const kiln_slice index[] = {{0, 0, 0, 1}, {KILN_SLICE_INDEX | KILN_SLICE_HAS_START, b, 0, 1}};
    for (int which = 0; which < 6; ++which) {
      kiln_graph* made = NULL;
      kiln_value in = 0, v = 0;
      kiln_status status = KILN_OK;
      OK(kiln_graph_create(&made));
      OK(kiln_graph_input(made, KILN_F32, 2, &in));
      if (which == 0) status = kiln_graph_reshape(made, in, both, 2, &v);
      if (which == 1) status = kiln_graph_broadcast_to(made, in, spread, 3, &v);
      if (which == 2)
        status = kiln_graph_shift(made, in, both, 2, KILN_BEYOND_wrap + (int32_t)(i % 3), KILN_NO_VALUE, &v);
      if (which == 3) status = kiln_graph_slice(made, in, &item, 1, &v);
      if (which == 4) status = kiln_graph_slice(made, in, index, 2, &v);
      if (which == 5) status = kiln_graph_broadcast_to(made, in, both, 2, &v);
      if (!status) status = launch_view(made, v);
      if (which == 2 || which == 3) {  // any displacement has a meaning, and so has any slice
        CHECK_STATUS(KILN_OK, status);
      } else {
        CHECK(status != KILN_OK && *kiln_last_error());
      }
      kiln_graph_destroy(made);
    }
  }
}

static void test_tensors(void) {
  static const int64_t far[] = {INT64_MIN, -1, INT64_MAX, (int64_t)1 << 62, (int64_t)1 << 40};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  float data[4] = {0};
  kiln_kernel* kernel = NULL;
  const int64_t fine[] = {2, 2};
  const kiln_tensor out = {data, fine, NULL, 2, KILN_F32};
  OK(kiln_kernel_create(graph, NULL, &kernel));
  for (size_t i = 0; i < 25; ++i) {
    const int64_t shape[] = {far[i / 5], far[i % 5]};
    kiln_dl_managed_tensor_versioned* made = NULL;
    kiln_tensor in = {data, shape, NULL, 2, KILN_F32};
    CHECK(kiln_tensor_create(cpu, NULL, KILN_C128, shape, 2, &made) != KILN_OK && made == NULL);
    CHECK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &out, 1) != KILN_OK);
    // Elements whose addresses overflow; at others there may be memory.
    in.strides = shape, in.shape = fine;
    if (i / 5 != 1 && i / 5 != 4) CHECK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &in, 1) != KILN_OK);
    in.strides = NULL, in.rank = (int32_t)far[i % 5];
    if (in.rank != 2) CHECK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &out, 1) != KILN_OK);
    CHECK(kiln_tensor_create(cpu, NULL, KILN_F32, fine, in.rank < 0 ? in.rank : 9, &made) != KILN_OK);
  }
  {
    kiln_tensor odd = {(char*)data + 1, fine, NULL, 2, KILN_F32};
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &odd, 1, NULL, 0, &out, 1));
    odd.data = NULL;
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &odd, 1, NULL, 0, &out, 1));
    odd.data = data, odd.shape = NULL;
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &odd, 1, NULL, 0, &out, 1));
    CHECK(kiln_tensor_upload(NULL, NULL, data, SIZE_MAX) != KILN_OK);
  }
  kiln_kernel_destroy(kernel);
}

static void never(void* owner) { *(int*)owner = 1; }

static void test_devices(void) {
  static const int32_t ids[] = {INT32_MIN, -1, 1, 63, 64, 65536, INT32_MAX};
  static const int32_t types[] = {KILN_DL_CPU, KILN_DL_CUDA, 0, -1, 4, INT32_MAX};
  float data[4] = {0};
  const int64_t shape[] = {2, 2};
  const kiln_tensor tensor = {data, shape, NULL, 2, KILN_F32};
  kiln_kernel* kernel = NULL;
  kiln_raw_kernel* raw = NULL;
  int released = 0;
  OK(kiln_kernel_create(graph, NULL, &kernel));
  OK(kiln_raw_kernel_create("f", "__global__ void f() {}", NULL, &raw));
  for (size_t i = 0; i < sizeof ids / sizeof *ids * (sizeof types / sizeof *types); ++i) {
    const kiln_dl_device device = {types[i % 6], ids[i / 6]};
    void* stream = NULL;
    kiln_capture* capture = NULL;
    kiln_dl_managed_tensor_versioned* made = NULL;
    if (device.device_type == KILN_DL_CUDA && device.device_id == 1) continue;  // there may be one
    if (device.device_type != KILN_DL_CPU) {  // of which there is one, whatever its number is
      CHECK(kiln_stream_create(device, &stream) != KILN_OK && !stream);
      CHECK(kiln_synchronize(device, NULL) != KILN_OK);
      CHECK(kiln_release_after(device, NULL, never, &released) != KILN_OK);
      CHECK(kiln_capture_begin(device, NULL, &capture) != KILN_OK && !capture);
      CHECK(kiln_tensor_create(device, NULL, KILN_F32, shape, 2, &made) != KILN_OK && !made);
      CHECK(kiln_launch_raw(kernel, device, NULL, &tensor, 1, NULL, 0, &tensor, 1) != KILN_OK);
    }
    if (device.device_type != KILN_DL_CPU && device.device_type != KILN_DL_CUDA)
      CHECK(kiln_stream_destroy(device, NULL) != KILN_OK);
    CHECK(kiln_raw_kernel_launch(raw, device, NULL, NULL, 1, NULL, 0) != KILN_OK);
  }
  CHECK(!released);
  kiln_kernel_destroy(kernel);
  kiln_raw_kernel_destroy(raw);
}

// A truth value is 0 or 1 in memory; a host's byte may be anything that is not 0.
static void test_truth(void) {
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const int64_t one[] = {1};
  const unsigned char byte = 2;
  const void* const scalar = &byte;
  unsigned char in = 1, out = 9;
  const kiln_tensor from = {&in, one, NULL, 1, KILN_B1}, to = {&out, one, NULL, 1, KILN_B1};
  kiln_graph* made = NULL;
  kiln_kernel* kernel = NULL;
  kiln_value pair[2], v = 0;
  OK(kiln_graph_create(&made));
  OK(kiln_graph_input(made, KILN_B1, 1, &pair[0]));
  OK(kiln_graph_scalar(made, KILN_B1, KILN_STRONG, &pair[1]));
  OK(kiln_graph_operation(made, KILN_OP_logical_and, pair, 2, &v));
  OK(kiln_graph_output(made, v));
  OK(kiln_kernel_create(made, NULL, &kernel));
  CHECK_STATUS(KILN_OK, kiln_launch_raw(kernel, cpu, NULL, &from, 1, &scalar, 1, &to, 1));
  CHECK(out == 1);
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(made);
}

int hostile_failures(void) {
  kiln_value v = 0;
  OK(kiln_graph_create(&graph));
  OK(kiln_graph_input(graph, KILN_F32, 2, &x));
  OK(kiln_graph_operation(graph, KILN_OP_neg, &x, 1, &v));
  OK(kiln_graph_output(graph, v));
  test_counts_of_graphs();
  test_counts_of_kernels();
  test_axes();
  test_extents();
  test_tensors();
  test_devices();
  test_truth();
  kiln_graph_destroy(graph);
  return failures;
}
