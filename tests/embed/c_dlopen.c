// tests/embed/c_dlopen.c -- E04: libkiln.so opened by a host that has an LLVM of its own, in either order, and closed
// again.
//
// usage: c_dlopen LIBRARY local|deepbind none|before|after LIBLLVM; status 77 where LIBLLVM is not installed
#define _GNU_SOURCE
#include <dlfcn.h>

#include "c_test.h"

// Functions of the library, which this program is not linked with.
static kiln_status (*parse)(const char*, size_t, kiln_graph**);
static kiln_status (*create)(const kiln_graph*, const kiln_options*, kiln_kernel**);
static kiln_status (*launch)(kiln_kernel*, kiln_dl_device, void*, const kiln_tensor*, size_t, const void* const*,
                             size_t, const kiln_tensor*, size_t);
static const char* (*last_error)(void);
static void (*destroy_graph)(kiln_graph*);
static void (*destroy_kernel)(kiln_kernel*);

static void find(void* library, const char* name, void* function) {
  void* const address = dlsym(library, name);
  if (!address) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(function, &address, sizeof address);  // C has no conversion from objects to functions
}

// Compiles a kernel of its own and runs it: y = exp(x) + number.
static int works(float number) {
  char text[256];
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  snprintf(text, sizeof text,
           "kiln graph 1\n%%0 = input type=f32 rank=1\n%%1 = constant type=f32 bits=0x%08x\n%%2 = exp %%0\n"
           "%%3 = add %%2, %%1\noutput %%3\n",
           bits);
  kiln_graph* graph = NULL;
  kiln_kernel* kernel = NULL;
  float x[40], y[40];
  const int64_t shape[] = {40};
  for (int i = 0; i < 40; ++i) x[i] = 1;
  const kiln_tensor in = {x, shape, NULL, 1, KILN_F32}, out = {y, shape, NULL, 1, KILN_F32};
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  if (parse(text, SIZE_MAX, &graph) || create(graph, NULL, &kernel) ||
      launch(kernel, cpu, NULL, &in, 1, NULL, 0, &out, 1)) {
    fprintf(stderr, "%s\n", last_error());
    return 0;
  }
  destroy_kernel(kernel);
  destroy_graph(graph);
  const float difference = y[39] - number - 2.7182817f;
  return difference < 1e-5f && difference > -1e-5f;
}

// The host's LLVM must be its own: it makes a context and a module with one function.
static void open_llvm(const char* path) {
  void* const llvm = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!llvm) {
    fprintf(stderr, "%s\n", dlerror());
    exit(77);
  }
  void* (*make_context)(void);
  void* (*make_module)(const char*, void*);
  char* (*print)(void*);
  find(llvm, "LLVMContextCreate", (void*)&make_context);
  find(llvm, "LLVMModuleCreateWithNameInContext", (void*)&make_module);
  find(llvm, "LLVMPrintModuleToString", (void*)&print);
  CHECK(strstr(print(make_module("host", make_context())), "ModuleID = 'host'"));
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  setenv("KILN_CACHE", "off", 1);  // the compiler must run
  const int before = strcmp(argv[3], "before") == 0, after = strcmp(argv[3], "after") == 0;
  if (before) open_llvm(argv[4]);
  const int flags = strcmp(argv[2], "deepbind") == 0 ? RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND : RTLD_NOW | RTLD_LOCAL;
  void* const library = dlopen(argv[1], flags);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  find(library, "kiln_graph_parse", (void*)&parse);
  find(library, "kiln_kernel_create", (void*)&create);
  find(library, "kiln_launch_raw", (void*)&launch);
  find(library, "kiln_last_error", (void*)&last_error);
  find(library, "kiln_graph_destroy", (void*)&destroy_graph);
  find(library, "kiln_kernel_destroy", (void*)&destroy_kernel);
  CHECK(works(1));
  if (after) open_llvm(argv[4]);
  CHECK(works(2));
  CHECK(dlclose(library) == 0);  // whatever threads and handlers it left must not be missed at exit
  return failures ? 1 : 0;
}
