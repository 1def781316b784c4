// examples/c/server.c -- a server in C99: eight threads answer requests with one kernel, from a bundle, without a
// compiler.
//
//   KILN_RECORD=server.kiln ./server                         # notes the kernels, on any machine
//   kiln bundle build server.kiln --arch sm_90 --cpu x86-64-v3 -o server.klb
//   ./server --bundle server.klb                             # loads neither NVRTC nor kiln's CPU compiler
//
// A request is some rows of scores; its answer are their softmax and the place of the best score of each row.
#define _POSIX_C_SOURCE 200809L
#include <kiln/kiln_c.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { columns = 512, most_rows = 64, thread_count = 8 };

static void check(kiln_status status) {
  if (status == KILN_OK) return;
  fprintf(stderr, "%s: %s\n", kiln_status_name(status), kiln_last_error());
  exit(1);
}

// ------------------------------------------------------------------ the kernel, as text
static const char* const graph_text =
    "kiln graph 1\n"
    "name \"softmax\"\n"
    "%0 = input type=f32 rank=2\n"
    "%1 = scalar type=f32                    # the inverse of the temperature\n"
    "%2 = mul %0, %1\n"
    "%3 = max %2 axes=[-1] keepdims\n"
    "%4 = sub %2, %3\n"
    "%5 = exp %4\n"
    "%6 = sum %5 axes=[-1] keepdims\n"
    "%7 = div %5, %6\n"
    "%8 = argmax %0 axes=[-1]\n"
    "output %7, %8\n";

static kiln_kernel* make_kernel(void) {
  kiln_graph* graph = NULL;
  kiln_kernel* kernel = NULL;
  check(kiln_graph_parse(graph_text, SIZE_MAX, &graph));
  check(kiln_kernel_create(graph, NULL, &kernel));
  kiln_graph_destroy(graph);
  return kernel;
}

// ------------------------------------------------------------------ requests
typedef struct request {
  int64_t rows;
  float temperature;
  float *scores, *answer;  // rows x columns
  int64_t* best;           // rows
  struct request* next;
  int is_done;
} request;

typedef struct server {
  kiln_kernel* kernel;
  kiln_dl_device device;
  pthread_mutex_t mutex;
  pthread_cond_t arrived, done;
  request* waiting;
  int is_closing;
} server;

// One request, with the thread's own stream: nothing is shared but the kernel.
static void serve(server* s, void* stream, request* r) {
  const int64_t shape[] = {r->rows, columns};
  const float inverse = 1.0f / r->temperature;
  const void* scalars[] = {&inverse};
  const size_t bytes = (size_t)r->rows * columns * sizeof(float);
  kiln_dl_managed_tensor_versioned *scores = NULL, *results[2] = {NULL, NULL};
  check(kiln_tensor_create(s->device, stream, KILN_F32, shape, 2, &scores));
  check(kiln_tensor_upload(&scores->dl_tensor, stream, r->scores, bytes));
  const kiln_dl_tensor* inputs[] = {&scores->dl_tensor};
  check(kiln_launch_new(s->kernel, stream, inputs, 1, scalars, 1, results, 2));
  check(kiln_tensor_download(&results[0]->dl_tensor, stream, r->answer, bytes));
  check(kiln_tensor_download(&results[1]->dl_tensor, stream, r->best, (size_t)r->rows * sizeof(int64_t)));
  scores->deleter(scores);
  for (int i = 0; i < 2; ++i) results[i]->deleter(results[i]);
}

static void* work(void* context) {
  server* s = (server*)context;
  void* stream = NULL;
  check(kiln_stream_create(s->device, &stream));
  pthread_mutex_lock(&s->mutex);
  for (;;) {
    while (!s->waiting && !s->is_closing) pthread_cond_wait(&s->arrived, &s->mutex);
    request* r = s->waiting;
    if (!r) break;
    s->waiting = r->next;
    pthread_mutex_unlock(&s->mutex);
    serve(s, stream, r);
    pthread_mutex_lock(&s->mutex);
    r->is_done = 1;
    pthread_cond_broadcast(&s->done);
  }
  pthread_mutex_unlock(&s->mutex);
  check(kiln_stream_destroy(s->device, stream));
  return NULL;
}

static void submit(server* s, request* r) {
  pthread_mutex_lock(&s->mutex);
  r->next = s->waiting;
  s->waiting = r;
  pthread_cond_signal(&s->arrived);
  pthread_mutex_unlock(&s->mutex);
}

static void wait_for(server* s, const request* r) {
  pthread_mutex_lock(&s->mutex);
  while (!r->is_done) pthread_cond_wait(&s->done, &s->mutex);
  pthread_mutex_unlock(&s->mutex);
}

// ------------------------------------------------------------------ a client
static request* new_request(unsigned number) {
  request* r = calloc(1, sizeof *r);
  if (!r) abort();
  r->rows = 1 + number * 7 % most_rows;
  r->temperature = 0.5f + (float)(number % 5);
  r->scores = malloc((size_t)r->rows * columns * sizeof(float));
  r->answer = malloc((size_t)r->rows * columns * sizeof(float));
  r->best = malloc((size_t)r->rows * sizeof(int64_t));
  if (!r->scores || !r->answer || !r->best) abort();
  for (int64_t i = 0; i < r->rows * columns; ++i)
    r->scores[i] = (float)((unsigned)i * 2654435761u + number * 40503u) / 4294967296.0f * 8.0f;
  return r;
}

// The answer must be that of plain C in double precision.
static int is_right(const request* r) {
  for (int64_t row = 0; row < r->rows; ++row) {
    const float *x = r->scores + row * columns, *p = r->answer + row * columns;
    double total = 0;
    int best = 0;
    for (int c = 0; c < columns; ++c) best = x[c] > x[best] ? c : best;
    for (int c = 0; c < columns; ++c) total += exp(((double)x[c] - x[best]) / r->temperature);
    for (int c = 0; c < columns; ++c) {
      const double expected = exp(((double)x[c] - x[best]) / r->temperature) / total;
      if (!(fabs(p[c] - expected) <= 2e-5 * expected + 1e-12)) return 0;
    }
    if (r->best[row] != best) return 0;
  }
  return 1;
}

static void free_request(request* r) {
  free(r->scores);
  free(r->answer);
  free(r->best);
  free(r);
}

// The first GPU if there is one.
static kiln_dl_device choose_device(void) {
  size_t count = 0;
  kiln_device_info info = {0}, chosen = {0};
  info.struct_size = sizeof info;
  check(kiln_device_count(&count));
  for (size_t i = 0; i < count; ++i) {
    check(kiln_device_at(i, &info));
    if (i == 0 || (chosen.device.device_type == KILN_DL_CPU && info.device.device_type == KILN_DL_CUDA)) chosen = info;
  }
  printf("serving on %s (%s)\n", chosen.name, chosen.arch);
  return chosen.device;
}

// Whether a compiler is in this process; Linux.
static int has_compiler(void) {
  char line[1024];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    if (strstr(line, "libkiln_cpu") || strstr(line, "libnvrtc")) found = 1;
  if (maps) fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  unsigned count = 400, wrong = 0;
  const char* bundle = NULL;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--bundle") == 0) bundle = argv[i + 1];
    if (strcmp(argv[i], "--requests") == 0) count = (unsigned)strtoul(argv[i + 1], NULL, 10);
  }
  if (bundle) {
    check(kiln_bundle_load(bundle));
    check(kiln_set_compile_mode(KILN_COMPILE_bundle_only));
  }
  server s;
  memset(&s, 0, sizeof s);
  pthread_mutex_init(&s.mutex, NULL);
  pthread_cond_init(&s.arrived, NULL);
  pthread_cond_init(&s.done, NULL);
  s.device = choose_device();
  s.kernel = make_kernel();
  pthread_t threads[thread_count];
  for (int i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, work, &s);

  request** requests = malloc(count * sizeof *requests);
  if (!requests) abort();
  for (unsigned i = 0; i < count; ++i) requests[i] = new_request(i);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (unsigned i = 0; i < count; ++i) submit(&s, requests[i]);
  for (unsigned i = 0; i < count; ++i) wait_for(&s, requests[i]);
  clock_gettime(CLOCK_MONOTONIC, &end);
  for (unsigned i = 0; i < count; ++i) {
    wrong += !is_right(requests[i]);
    free_request(requests[i]);
  }
  free(requests);
  const double ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
  printf("%u requests by %d threads in %.1f ms, %u wrong; %s\n", count, thread_count, ms, wrong,
         has_compiler() ? "with a compiler loaded" : "without a compiler");

  pthread_mutex_lock(&s.mutex);
  s.is_closing = 1;
  pthread_cond_broadcast(&s.arrived);
  pthread_mutex_unlock(&s.mutex);
  for (int i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  kiln_kernel_destroy(s.kernel);
  return wrong != 0 || (bundle && has_compiler());
}
