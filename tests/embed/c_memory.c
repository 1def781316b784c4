// tests/embed/c_memory.c -- E05: the n-th allocation fails, for all n; every call says so, and nothing is lost or
// broken.
//
// This program's malloc stands in for that of every library in the process, operator new included.
#include <errno.h>

#include "c_test.h"

// glibc's own.
void* __libc_malloc(size_t);
void __libc_free(void*);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static _Thread_local long countdown = 0;  // > 0: allocations of this thread until one fails
static _Thread_local int injected = 0;
static long live = 0;
static _Thread_local long asked = 0;

static int fails(void) {
  ++asked;
  if (countdown == 0 || --countdown > 0) return 0;
  injected = 1;
  errno = ENOMEM;
  return 1;
}
static void* counted(void* memory) {
  if (memory) __atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
  return memory;
}
void* malloc(size_t bytes) { return fails() ? NULL : counted(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return fails() ? NULL : counted(__libc_calloc(count, bytes)); }
void* realloc(void* memory, size_t bytes) {
  if (fails()) return NULL;
  void* const fresh = __libc_realloc(memory, bytes);
  if (!memory) counted(fresh);
  return fresh;
}
void* memalign(size_t alignment, size_t bytes) { return fails() ? NULL : counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) {
  if (memory) __atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
  __libc_free(memory);
}

#define TRY(call)                 \
  do {                            \
    if (!status) status = (call); \
  } while (0)

static kiln_status build(kiln_graph** made) {
  kiln_status status = KILN_OK;
  kiln_graph* graph = NULL;
  kiln_value x, y, s, pair[2], function_inputs[2], one;
  kiln_graph* function = NULL;
  const int32_t axis = 1;
  const float zero = 0;
  kiln_reduce_options options = {0};
  options.struct_size = sizeof options;
  options.axes = &axis, options.axis_count = 1, options.keepdims = 1;
  TRY(kiln_graph_create(&graph));
  TRY(kiln_graph_set_name(graph, "a name that is too long to be stored without an allocation"));
  TRY(KILN_GRAPH_HERE(graph));
  TRY(kiln_graph_input(graph, KILN_F32, 2, &x));
  TRY(kiln_graph_scalar(graph, KILN_F32, KILN_WEAK, &s));
  pair[0] = x, pair[1] = s;
  TRY(kiln_graph_operation(graph, KILN_OP_mul, pair, 2, &y));
  TRY(kiln_graph_reduce(graph, KILN_REDUCE_sum, y, &options, &pair[1]));
  pair[0] = y;
  TRY(kiln_graph_operation(graph, KILN_OP_sub, pair, 2, &y));
  TRY(kiln_graph_output(graph, y));
  TRY(kiln_graph_create(&function));
  TRY(kiln_graph_input(function, KILN_F32, 0, &function_inputs[0]));
  TRY(kiln_graph_input(function, KILN_F32, 0, &function_inputs[1]));
  TRY(kiln_graph_operation(function, KILN_OP_add, function_inputs, 2, &one));
  TRY(kiln_graph_output(function, one));
  TRY(kiln_graph_constant(graph, KILN_F32, &zero, KILN_WEAK, &one));
  TRY(kiln_graph_reduce_by(graph, function, &x, &one, 1, NULL, &y));
  TRY(kiln_graph_output(graph, y));
  kiln_graph_destroy(function);
  if (status) kiln_graph_destroy(graph);
  if (!status) *made = graph;
  return status;
}

static kiln_status launch(kiln_kernel* kernel) {
  enum { rows = 2, columns = 3 };
  float x[] = {1, 2, 3, 4, 5, 6}, scale = 2;
  const void* scalars[] = {&scale};
  int64_t shape[] = {rows, columns};
  kiln_dl_tensor input;
  memset(&input, 0, sizeof input);
  input.data = x, input.device.device_type = KILN_DL_CPU, input.ndim = 2, input.shape = shape;
  input.dtype.code = KILN_DL_FLOAT, input.dtype.bits = 32, input.dtype.lanes = 1;
  const kiln_dl_tensor* inputs[] = {&input};
  kiln_dl_managed_tensor_versioned* outputs[2] = {NULL, NULL};
  const kiln_status status = kiln_launch_new(kernel, NULL, inputs, 1, scalars, 1, outputs, 2);
  if (status) {
    CHECK(!outputs[0] && !outputs[1]);
    return status;
  }
  const float* y = (const float*)outputs[0]->dl_tensor.data;
  CHECK(y[0] == 2 - 12 && y[5] == 12 - 30 && *(const float*)outputs[1]->dl_tensor.data == 21);
  for (int i = 0; i < 2; ++i) outputs[i]->deleter(outputs[i]);
  return KILN_OK;
}

// Everything that a program does with a graph, from its first call to its last.
static kiln_status work(void) {
  static char text[4096];
  kiln_status status = KILN_OK;
  kiln_graph *graph = NULL, *read = NULL;
  kiln_kernel* kernel = NULL;
  size_t length = 0;
  TRY(build(&graph));
  TRY(kiln_graph_text(graph, text, sizeof text, &length));
  TRY(kiln_graph_parse(text, length, &read));
  TRY(kiln_kernel_create(read, NULL, &kernel));
  TRY(launch(kernel));
  TRY(launch(kernel));
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(read);
  kiln_graph_destroy(graph);
  return status;
}

// A launch into tensors that are given, with known kernels, asks for no memory at all.
static void test_launch_without_allocations(void) {
  static const char text[] =
      "kiln graph 1\n%0 = input type=f32 rank=2\n%1 = scalar type=f32\n%2 = mul %0, %1\n%3 = exp %2\noutput %3\n";
  kiln_graph* graph = NULL;
  kiln_kernel* kernel = NULL;
  OK(kiln_graph_parse(text, SIZE_MAX, &graph));
  OK(kiln_kernel_create(graph, NULL, &kernel));
  float x[6] = {0}, y[6], scale = 1;
  const void* scalars[] = {&scale};
  const int64_t shape[] = {2, 3}, turned[] = {3, 2};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  for (int round = 0; round < 3; ++round) {
    const long before = asked;
    for (int i = 0; i < 2; ++i) {
      const kiln_tensor in = {x, i ? turned : shape, NULL, 2, KILN_F32},
                        out = {y, i ? turned : shape, NULL, 2, KILN_F32};
      OK(kiln_launch_raw(kernel, cpu, NULL, &in, 1, scalars, 1, &out, 1));
    }
    if (round > 0) CHECK(asked == before);
    CHECK(y[5] == 1);
  }
  kiln_kernel_destroy(kernel);
  kiln_graph_destroy(graph);
}

int main(void) {
  test_launch_without_allocations();
  OK(work());  // compiles, and fills what lives as long as the process
  OK(work());
  countdown = 1;
  CHECK_STATUS(KILN_ERROR_OUT_OF_MEMORY, work());  // the message of this thread, and what the first exception makes
  countdown = 0;
  OK(work());
  const long before = __atomic_load_n(&live, __ATOMIC_RELAXED);
  OK(work());
  CHECK(__atomic_load_n(&live, __ATOMIC_RELAXED) == before);
  long n = 0;
  do {
    injected = 0;
    countdown = ++n;
    const kiln_status status = work();
    countdown = 0;
    if (injected && status != KILN_OK) CHECK_STATUS(KILN_ERROR_OUT_OF_MEMORY, status);
    if (!injected) OK(status);
    OK(work());  // as if nothing had happened
    const long now = __atomic_load_n(&live, __ATOMIC_RELAXED);
    if (now > before + 1) {  // one: the list of kept blocks, made when a tensor's memory runs out for the first time
      fprintf(stderr, "allocation %ld failed, and %ld blocks were lost\n", n, now - before);
      ++failures;
    }
  } while (injected && failures < 20);
  printf("%ld allocations failed in turn\n", n - 1);
  CHECK(n > 100);
  if (failures == 0) puts("all checks passed");
  return failures ? 1 : 0;
}
