// tests/embed/c_errors.c -- E05 of the C interface: whatever is wrong gives a status and a message, and nothing breaks.
#include "c_test.h"

static kiln_graph* graph;
static kiln_kernel* kernel;
static kiln_value x;

static void test_null_handles(void) {
  kiln_value v = 0;
  size_t n = 0;
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_create(NULL));
  CHECK_MESSAGE("kiln_graph_create: ");
  kiln_graph_destroy(NULL);
  kiln_kernel_destroy(NULL);
  kiln_inspection_destroy(NULL);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_input(NULL, KILN_F32, 1, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_input(graph, KILN_F32, 1, NULL));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_constant(graph, KILN_F32, NULL, KILN_WEAK, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation(graph, KILN_OP_add, NULL, 2, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation_by_name(graph, NULL, &x, 1, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_text(NULL, NULL, 0, &n));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_parse(NULL, 0, &graph));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_create(NULL, NULL, &kernel));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_compile(NULL, NULL, 0));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch(NULL, NULL, NULL, 0, NULL, 0, NULL, 0));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch(kernel, NULL, NULL, 1, NULL, 0, NULL, 1));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_device_count(NULL));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_bundle_load(NULL));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_bundle_load_memory(NULL, 1, NULL));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_tensor_upload(NULL, NULL, NULL, 0));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_scatter(KILN_SCATTER_add, NULL, NULL, 0, NULL, NULL));
}

static void test_bad_numbers(void) {
  static const int32_t bad[] = {-1, 15, 1000, INT32_MAX, INT32_MIN};
  kiln_value v = 77, pair[2] = {x, x};
  kiln_reduce_options options = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_input(graph, bad[i], 1, &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_cast(graph, x, bad[i], &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation(graph, bad[i] == 15 ? 0 : bad[i], pair, 2, &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_reduce(graph, bad[i], x, NULL, &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_scan(graph, bad[i], x, 0, &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_take(graph, bad[i], x, x, 0, KILN_OUTSIDE_missing, &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_scalar(graph, KILN_F32, bad[i], &v));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_set_compile_mode(bad[i]));
    CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_random(graph, bad[i], KILN_F32, x, x, &v));
  }
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation(graph, KILN_OP_add, pair, 1, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation(graph, KILN_OP_add, pair, SIZE_MAX, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_operation_by_name(graph, "plus", pair, 2, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_cast(graph, 4000000000u, KILN_F32, &v));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_output(graph, KILN_NO_VALUE));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_graph_reduce(graph, KILN_REDUCE_sum, x, &options, &v));
  CHECK_MESSAGE("struct_size");
  CHECK(v == 77);  // results are written on success only
  CHECK(strcmp(kiln_status_name((kiln_status)99), "an unknown status") == 0);
}

static void test_ranks_and_types(void) {
  kiln_value v = 0, b, c, pair[2];
  const int32_t axis = 1;
  const int32_t far[] = {7};
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_input(graph, KILN_F32, -1, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_input(graph, KILN_F32, 1000, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_index(graph, x, 1, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_scan(graph, KILN_SCAN_cumsum, x, -2, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_transpose(graph, x, &axis, 1, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_squeeze(graph, x, far, 1, &v));
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_graph_flip(graph, x, far, 1000000, &v));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_operation(graph, KILN_OP_bit_not, &x, 1, &v));
  OK(kiln_graph_input(graph, KILN_B1, 1, &b));
  OK(kiln_graph_input(graph, KILN_C64, 1, &c));
  pair[0] = b, pair[1] = b;
  OK(KILN_GRAPH_HERE(graph));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_operation(graph, KILN_OP_sub, pair, 2, &v));
  CHECK_MESSAGE("c_errors.c:");  // where
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_reduce(graph, KILN_REDUCE_max, c, NULL, &v));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_cast(graph, c, KILN_F32, &v));
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_graph_take(graph, KILN_TAKE_axis, x, c, 0, KILN_OUTSIDE_clip, &v));
  OK(kiln_graph_at(graph, NULL, 0));
}

static kiln_tensor tensor(void* data, const int64_t* shape, int32_t rank) {
  kiln_tensor t = {0};
  t.data = data, t.shape = shape, t.rank = rank, t.dtype = KILN_F32;
  return t;
}

static void test_launches(void) {
  const kiln_dl_device cpu = {KILN_DL_CPU, 0}, metal = {KILN_DL_METAL, 0}, gpu = {KILN_DL_CUDA, 99};
  float data[4] = {1, 2, 3, 4}, out[4] = {0};
  const int64_t four[] = {4}, three[] = {3}, negative[] = {-4}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
  const int64_t wide[] = {INT64_C(1) << 62};
  kiln_tensor in = tensor(data, four, 1), to = tensor(out, four, 1);
  OK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  CHECK(out[3] == 8);
  CHECK_STATUS(KILN_ERROR_DEVICE, kiln_launch_raw(kernel, metal, NULL, &in, 1, NULL, 0, &to, 1));
  CHECK_STATUS(KILN_ERROR_DEVICE, kiln_launch_raw(kernel, gpu, NULL, &in, 1, NULL, 0, &to, 1));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 1, &to, 1));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 2, NULL, 0, &to, 1));
  to.shape = three;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to.shape = negative;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to.shape = wide;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to.shape = huge, to.rank = 2;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to.rank = -1;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to.rank = 1000;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to = tensor(out, NULL, 1);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to = tensor(NULL, four, 1);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to = tensor((char*)out + 1, four, 1);
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  to = tensor(out, four, 1);
  in.dtype = KILN_F64;
  CHECK_STATUS(KILN_ERROR_TYPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  in.dtype = -3;
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  in.dtype = KILN_F32, in.rank = 2;
  CHECK_STATUS(KILN_ERROR_SHAPE, kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  in.rank = 1;
  OK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, NULL, 0, &to, 1));
  CHECK(out[0] == 2);
  {
    kiln_dl_managed_tensor_versioned* made = NULL;
    CHECK_STATUS(KILN_ERROR_SHAPE, kiln_tensor_create(cpu, NULL, KILN_F64, huge, 2, &made));
    CHECK_STATUS(KILN_ERROR_SHAPE, kiln_tensor_create(cpu, NULL, KILN_F64, huge, -1, &made));
    CHECK_STATUS(KILN_ERROR_SHAPE, kiln_tensor_create(cpu, NULL, KILN_F64, huge, 1000, &made));
    CHECK(made == NULL);
  }
}

// A text from anywhere: refused with the number of its line.
static void test_texts(void) {
  static const struct {
    const char *text, *part;
  } bad[] = {
      {"", "kiln graph 1"},
      {"kiln graph 2\n", "kiln graph 1"},
      {"kiln graph 1\n%1 = input type=f32 rank=1\n", "line 2: values are numbered"},
      {"kiln graph 1\n%0 = input type=f32 rank=9\n", "line 2: a tensor of 9 axes"},
      {"kiln graph 1\n%0 = input type=f99 rank=1\n", "line 2: 'f99' is no element type"},
      {"kiln graph 1\n%0 = input rank=1\n", "line 2: type is missing"},
      {"kiln graph 1\n%0 = input type=f32 rank=1 strong\n", "line 2: strong has no meaning here"},
      {"kiln graph 1\n%0 = input type=f32 rank=99999999999999999999\n", "out of range"},
      {"kiln graph 1\n%0 = input type=f32 rank=1\n%1 = add %0, %7\n", "line 3: value 7 does not exist"},
      {"kiln graph 1\n%0 = input type=f32 rank=1\n%1 = sum %0 axes=[3]\n", "line 3: "},
      {"kiln graph 1\n%0 = input type=f32 rank=1\n%1 = plus %0, %0\n", "line 3: 'plus' is no operation"},
      {"kiln graph 1\n%0 = constant type=f32 bits=3f\n", "line 2: bits are"},
      {"kiln graph 1\noutput %0\n", "line 2: value 0 does not exist"},
      {"kiln graph 1\n}\n", "line 2: '}' closes nothing"},
      {"kiln graph 1\nwhatever\n", "line 2: a value, 'name' or 'output' is expected"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    kiln_graph* read = NULL;
    CHECK_STATUS(KILN_ERROR_PARSE, kiln_graph_parse(bad[i].text, SIZE_MAX, &read));
    CHECK_MESSAGE(bad[i].part);
    CHECK(read == NULL);
  }
}

int main(void) {
  kiln_value pair[2];
  kiln_kernel* none = NULL;
  OK(kiln_graph_create(&graph));
  OK(kiln_graph_input(graph, KILN_F32, 1, &x));
  CHECK_STATUS(KILN_ERROR_ARGUMENT, kiln_kernel_create(graph, NULL, &none));  // no outputs
  pair[0] = pair[1] = x;
  OK(kiln_graph_operation(graph, KILN_OP_add, pair, 2, &pair[0]));
  OK(kiln_graph_output(graph, pair[0]));
  OK(kiln_kernel_create(graph, NULL, &kernel));
  test_null_handles();
  test_bad_numbers();
  test_ranks_and_types();
  test_launches();
  test_texts();
  test_launches();  // everything works as before
  {
    kiln_graph_info info = {0};
    info.struct_size = sizeof info;
    OK(kiln_graph_get_info(graph, &info));
    CHECK(info.values == 4 && info.inputs == 3 && info.outputs == 1);  // failed calls added nothing
  }
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
  if (failures == 0) puts("all checks passed");
  return failures ? 1 : 0;
}
