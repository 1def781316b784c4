// examples/c/graph.c -- the C interface in one page: a graph, its kernel, a launch on the host program's own memory.
#include <kiln/kiln_c.h>

#include <stdio.h>
#include <stdlib.h>

static void check(kiln_status status) {
  if (status == KILN_OK) return;
  fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_last_error());
  exit(1);
}

int main(void) {
  // y = max(a * x + b, 0), and the mean of each row of y.
  kiln_graph* graph;
  kiln_value x, a, b, y, mean;
  check(kiln_graph_create(&graph));
  check(kiln_graph_set_name(graph, "affine"));
  check(kiln_graph_input(graph, KILN_F32, 2, &x));
  check(kiln_graph_input(graph, KILN_F32, 1, &b));           // broadcasts over the rows
  check(kiln_graph_scalar(graph, KILN_F64, KILN_WEAK, &a));  // a number takes the type of the tensors that it meets
  check(kiln_graph_operation(graph, KILN_OP_mul, (kiln_value[]){a, x}, 2, &y));
  check(kiln_graph_operation_by_name(graph, "add", (kiln_value[]){y, b}, 2, &y));
  check(kiln_graph_operation(graph, KILN_OP_relu, &y, 1, &y));
  const int32_t last = -1;
  kiln_reduce_options rows = {0};
  rows.struct_size = sizeof rows;
  rows.axes = &last;
  rows.axis_count = 1;
  check(kiln_graph_reduce(graph, KILN_REDUCE_mean, y, &rows, &mean));
  check(kiln_graph_output(graph, y));
  check(kiln_graph_output(graph, mean));

  char text[1024];
  check(kiln_graph_text(graph, text, sizeof text, NULL));
  printf("%s", text);

  kiln_kernel* kernel;
  check(kiln_kernel_create(graph, NULL, &kernel));
  kiln_graph_destroy(graph);

  // Memory of the host program, on the CPU; with {KILN_DL_CUDA, 0}, device addresses and a CUstream the same on a GPU.
  const float x_data[2][3] = {{1, 2, 3}, {-1, -2, 4}}, b_data[3] = {1, 0, -1};
  float y_data[2][3], mean_data[2];
  const int64_t shape[] = {2, 3};
  const double factor = 0.5;
  const kiln_tensor inputs[] = {{(void*)x_data, shape, NULL, 2, KILN_F32},
                                {(void*)b_data, shape + 1, NULL, 1, KILN_F32}};
  const kiln_tensor outputs[] = {{y_data, shape, NULL, 2, KILN_F32}, {mean_data, shape, NULL, 1, KILN_F32}};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  check(kiln_launch_raw(kernel, cpu, NULL, inputs, 2, (const void*[]){&factor}, 1, outputs, 2));
  for (int i = 0; i < 2; ++i) printf("%g %g %g, mean %g\n", y_data[i][0], y_data[i][1], y_data[i][2], mean_data[i]);

  // What does not fit is a status and a sentence; nothing is lost.
  kiln_tensor wrong = inputs[0];
  wrong.dtype = KILN_F64;
  const kiln_tensor wrong_inputs[] = {wrong, inputs[1]};
  if (kiln_launch_raw(kernel, cpu, NULL, wrong_inputs, 2, (const void*[]){&factor}, 1, outputs, 2) == KILN_ERROR_TYPE)
    printf("%s\n", kiln_last_error());
  kiln_kernel_destroy(kernel);
  return 0;
}
