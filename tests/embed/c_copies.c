// tests/embed/c_copies.c -- two copies of libkiln.so in one process, as two plugins may bring them: each has its own
// state, both compile at the same time, and either may go first.
//
// usage: c_copies LIBRARY COPY local|global first|second: how they are opened, and which is closed first
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

#include "c_test.h"

struct copy {
  void* library;
  kiln_status (*parse)(const char*, size_t, kiln_graph**);
  kiln_status (*create)(const kiln_graph*, const kiln_options*, kiln_kernel**);
  kiln_status (*launch)(kiln_kernel*, kiln_dl_device, void*, const kiln_tensor*, size_t, const void* const*, size_t,
                        const kiln_tensor*, size_t);
  kiln_status (*bad)(kiln_graph**);
  const char* (*last_error)(void);
  void (*destroy_graph)(kiln_graph*);
  void (*destroy_kernel)(kiln_kernel*);
  kiln_status (*set_log)(kiln_log, void*);
  int logged, wrong;
};

static void find(void* library, const char* name, void* function) {
  void* const address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(function, &address, sizeof address);
}

static void count_messages(void* context, int32_t level, const char* message) {
  (void)level, (void)message;
  ++((struct copy*)context)->logged;
}

static void open_copy(struct copy* c, const char* path, int flags) {
  memset(c, 0, sizeof *c);
  c->library = dlopen(path, flags);
  if (!c->library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  find(c->library, "kiln_graph_parse", (void*)&c->parse);
  find(c->library, "kiln_kernel_create", (void*)&c->create);
  find(c->library, "kiln_launch_raw", (void*)&c->launch);
  find(c->library, "kiln_graph_create", (void*)&c->bad);
  find(c->library, "kiln_last_error", (void*)&c->last_error);
  find(c->library, "kiln_graph_destroy", (void*)&c->destroy_graph);
  find(c->library, "kiln_kernel_destroy", (void*)&c->destroy_kernel);
  find(c->library, "kiln_set_log", (void*)&c->set_log);
  if (c->set_log(&count_messages, c)) exit(1);
}

// Eight kernels of their own: y = x * number + number, long enough for the threads of the pool.
static void* work(void* argument) {
  enum { size = 200000 };
  struct copy* const c = argument;
  float* const x = malloc(size * sizeof *x);
  float* const y = malloc(size * sizeof *y);
  const int64_t shape[] = {size};
  for (int i = 0; i < size; ++i) x[i] = (float)i;
  for (int round = 0; round < 8; ++round) {
    char text[300];
    const float number = (float)(round + 1);
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    snprintf(text, sizeof text,
             "kiln graph 1\n%%0 = input type=f32 rank=1\n%%1 = constant type=f32 bits=0x%08x\n%%2 = mul %%0, %%1\n"
             "%%3 = add %%2, %%1\noutput %%3\n",
             bits);
    kiln_graph* graph = NULL;
    kiln_kernel* kernel = NULL;
    const kiln_tensor in = {x, shape, NULL, 1, KILN_F32}, out = {y, shape, NULL, 1, KILN_F32};
    const kiln_dl_device cpu = {KILN_DL_CPU, 0};
    if (c->parse(text, SIZE_MAX, &graph) || c->create(graph, NULL, &kernel) ||
        c->launch(kernel, cpu, NULL, &in, 1, NULL, 0, &out, 1)) {
      fprintf(stderr, "%s\n", c->last_error());
      ++c->wrong;
      break;
    }
    for (int i = 0; i < size; ++i) c->wrong += y[i] != (float)i * number + number;
    c->destroy_kernel(kernel);
    c->destroy_graph(graph);
  }
  free(x), free(y);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  static struct copy copies[2];
  pthread_t threads[2];
  const int flags = RTLD_NOW | (strcmp(argv[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
  const int first = strcmp(argv[4], "second") == 0;
  setenv("KILN_CACHE", "off", 1);  // the compilers must run
  open_copy(&copies[0], argv[1], flags);
  open_copy(&copies[1], argv[2], flags);
  CHECK(copies[0].library != copies[1].library && copies[0].parse != copies[1].parse);
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&threads[i], NULL, work, &copies[i]) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK(copies[0].wrong == 0 && copies[1].wrong == 0);
  CHECK(copies[0].bad(NULL) == KILN_ERROR_ARGUMENT);  // the message of one is not that of the other
  CHECK(strlen(copies[0].last_error()) > 0 && strlen(copies[1].last_error()) == 0);
  CHECK(dlclose(copies[first].library) == 0);
  work(&copies[1 - first]);
  CHECK(copies[1 - first].wrong == 0);
  CHECK(dlclose(copies[1 - first].library) == 0);
  if (failures == 0) puts("all checks passed");
  return failures ? 1 : 0;
}
