// tests/embed/c_hooks.cpp -- hooks of a C++ host: its memory, threads and log are used; what they throw stays outside.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <kiln/kiln_c.h>

namespace {

struct NoException {};  // of no family

/// A kernel y = x + x of f32 vectors, and its launch on vectors of `size` elements.
class Doubling {
 public:
  Doubling() {
    kiln_graph* graph = nullptr;
    EXPECT_EQ(kiln_graph_create(&graph), KILN_OK);
    kiln_value pair[2];
    EXPECT_EQ(kiln_graph_input(graph, KILN_F32, 1, &pair[0]), KILN_OK);
    pair[1] = pair[0];
    EXPECT_EQ(kiln_graph_operation(graph, KILN_OP_add, pair, 2, &pair[0]), KILN_OK);
    EXPECT_EQ(kiln_graph_output(graph, pair[0]), KILN_OK);
    EXPECT_EQ(kiln_kernel_create(graph, nullptr, &kernel_), KILN_OK);
    kiln_graph_destroy(graph);
  }
  Doubling(const Doubling&) = delete;
  Doubling& operator=(const Doubling&) = delete;
  ~Doubling() { kiln_kernel_destroy(kernel_); }

  kiln_status launch(std::int64_t size, kiln_dl_managed_tensor_versioned** result) {
    input_.assign(static_cast<std::size_t>(size), 3.0f);
    shape_ = size;
    kiln_dl_tensor tensor{};
    tensor.data = input_.data();
    tensor.device = {KILN_DL_CPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {KILN_DL_FLOAT, 32, 1};
    tensor.shape = &shape_;
    const kiln_dl_tensor* const inputs[] = {&tensor};
    return kiln_launch_new(kernel_, nullptr, inputs, 1, nullptr, 0, result, 1);
  }
  /// Launches, compares and frees.
  void expect_right(std::int64_t size) {
    kiln_dl_managed_tensor_versioned* result = nullptr;
    ASSERT_EQ(launch(size, &result), KILN_OK) << kiln_last_error();
    const float* const y = static_cast<const float*>(result->dl_tensor.data);
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(y[i], 6.0f);
    result->deleter(result);
  }

 private:
  kiln_kernel* kernel_ = nullptr;
  std::vector<float> input_;
  std::int64_t shape_ = 0;
};

/// What a hook does with each call.
enum class Mood { works, fails, throws };
struct Host {
  Mood mood = Mood::works;
  std::atomic<int> taken{0}, given{0};
  std::atomic<std::int64_t> bytes{0};
  std::string message;
};

template <class T>
T in_mood(const Host& host, T failure) {
  if (host.mood == Mood::throws) throw NoException{};
  return failure;
}

kiln_allocator device_hooks(Host& host) {
  kiln_allocator hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.context = &host;
  hooks.allocate = [](void* context, kiln_dl_device device, std::size_t bytes, void*) -> void* {
    Host& h = *static_cast<Host*>(context);
    if (h.mood != Mood::works) return in_mood(h, static_cast<void*>(nullptr));
    EXPECT_EQ(device.device_type, KILN_DL_CPU);
    ++h.taken, h.bytes += static_cast<std::int64_t>(bytes);
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  };
  hooks.deallocate = [](void* context, kiln_dl_device, void* memory, std::size_t bytes, void*) {
    Host& h = *static_cast<Host*>(context);
    ++h.given, h.bytes -= static_cast<std::int64_t>(bytes);
    std::free(memory);
  };
  return hooks;
}

TEST(Hooks, ResultsComeFromTheHostsMemoryAndGoBackToIt) {
  Host host;
  Doubling doubling;
  const kiln_allocator hooks = device_hooks(host);
  ASSERT_EQ(kiln_set_allocator(&hooks), KILN_OK);
  doubling.expect_right(1000);
  EXPECT_EQ(host.taken, 1);
  EXPECT_EQ(host.given, 1);
  kiln_dl_managed_tensor_versioned* kept = nullptr;
  ASSERT_EQ(doubling.launch(10, &kept), KILN_OK);
  ASSERT_EQ(kiln_set_allocator(nullptr), KILN_OK);
  doubling.expect_right(1000);
  EXPECT_EQ(host.taken, 2);  // kiln's own again
  kept->deleter(kept);
  EXPECT_EQ(host.given, 2);  // back to where it came from
  EXPECT_EQ(host.bytes, 0);
}

TEST(Hooks, AnAllocatorThatFailsOrThrowsFailsTheCallAlone) {
  Host host;
  Doubling doubling;
  doubling.expect_right(10);
  const kiln_allocator hooks = device_hooks(host);
  ASSERT_EQ(kiln_set_allocator(&hooks), KILN_OK);
  kiln_dl_managed_tensor_versioned* none = nullptr;
  host.mood = Mood::fails;
  EXPECT_EQ(doubling.launch(1000, &none), KILN_ERROR_OUT_OF_MEMORY);
  host.mood = Mood::throws;
  EXPECT_EQ(doubling.launch(1000, &none), KILN_ERROR_CALLBACK);
  EXPECT_TRUE(std::strstr(kiln_last_error(), "allocate threw")) << kiln_last_error();
  EXPECT_EQ(none, nullptr);
  host.mood = Mood::works;
  doubling.expect_right(1000);
  EXPECT_EQ(kiln_set_allocator(nullptr), KILN_OK);
  EXPECT_EQ(host.bytes, 0);
}

TEST(Hooks, GraphsAndKernelsLiveInTheHostsMemory) {
  Host host;
  kiln_host_allocator hooks{};
  hooks.struct_size = sizeof hooks;
  hooks.context = &host;
  hooks.allocate = [](void* context, std::size_t bytes) -> void* {
    Host& h = *static_cast<Host*>(context);
    if (h.mood != Mood::works) return in_mood(h, static_cast<void*>(nullptr));
    ++h.taken, h.bytes += static_cast<std::int64_t>(bytes);
    return std::malloc(bytes);
  };
  hooks.deallocate = [](void* context, void* memory, std::size_t bytes) {
    static_cast<Host*>(context)->bytes -= static_cast<std::int64_t>(bytes);
    std::free(memory);
  };
  ASSERT_EQ(kiln_set_host_allocator(&hooks), KILN_OK);
  {
    Doubling doubling;
    EXPECT_GT(host.taken, 4);
    doubling.expect_right(100);
    kiln_graph* graph = nullptr;
    host.mood = Mood::throws;
    EXPECT_EQ(kiln_graph_create(&graph), KILN_ERROR_CALLBACK);
    host.mood = Mood::fails;
    EXPECT_EQ(kiln_graph_create(&graph), KILN_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(graph, nullptr);
    host.mood = Mood::works;
    ASSERT_EQ(kiln_set_host_allocator(nullptr), KILN_OK);  // what is there goes back all the same
  }
  EXPECT_EQ(host.bytes, 0);
}

std::int32_t run_backwards(void* context, std::int64_t count, void (*body)(void*, std::int64_t), void* argument) {
  Host& host = *static_cast<Host*>(context);
  if (host.mood != Mood::works) return in_mood(host, 1);
  for (std::int64_t k = count; k-- > 0;) body(argument, k), ++host.taken;
  return 0;
}

TEST(Hooks, KernelsRunOnTheHostsThreads) {
  Host host;
  Doubling doubling;
  ASSERT_EQ(kiln_set_parallel_for(&run_backwards, &host), KILN_OK);
  doubling.expect_right(std::int64_t{1} << 22);
  EXPECT_GT(host.taken, 1);
  kiln_dl_managed_tensor_versioned* none = nullptr;
  host.mood = Mood::fails;
  EXPECT_EQ(doubling.launch(std::int64_t{1} << 22, &none), KILN_ERROR_CALLBACK);
  EXPECT_TRUE(std::strstr(kiln_last_error(), "parallel_for failed")) << kiln_last_error();
  host.mood = Mood::throws;
  EXPECT_EQ(doubling.launch(std::int64_t{1} << 22, &none), KILN_ERROR_CALLBACK);
  EXPECT_TRUE(std::strstr(kiln_last_error(), "parallel_for threw")) << kiln_last_error();
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(kiln_set_parallel_for(nullptr, nullptr), KILN_OK);
  doubling.expect_right(std::int64_t{1} << 22);
}

TEST(Hooks, MessagesGoToTheHostsLog) {
  Host host;
  const kiln_log log = [](void* context, std::int32_t level, const char* message) {
    Host& h = *static_cast<Host*>(context);
    if (h.mood == Mood::throws) throw NoException{};
    if (level == 0) h.message = message;
  };
  ASSERT_EQ(kiln_set_log(log, &host), KILN_OK);
  Doubling doubling;
  kiln_allocator tensors = device_hooks(host);
  tensors.deallocate = [](void*, kiln_dl_device, void* memory, std::size_t, void*) {
    std::free(memory);
    throw NoException{};  // a warning, for a deleter cannot fail
  };
  ASSERT_EQ(kiln_set_allocator(&tensors), KILN_OK);
  doubling.expect_right(10);
  EXPECT_EQ(kiln_set_allocator(nullptr), KILN_OK);
  EXPECT_NE(host.message.find("deallocate threw for a tensor's memory"), std::string::npos) << host.message;

  kiln_host_allocator objects{};
  objects.struct_size = sizeof objects;
  objects.allocate = [](void*, std::size_t bytes) { return std::malloc(bytes); };
  objects.deallocate = [](void*, void* memory, std::size_t) {
    std::free(memory);
    throw NoException{};
  };
  ASSERT_EQ(kiln_set_host_allocator(&objects), KILN_OK);
  kiln_graph* graph = nullptr;
  EXPECT_EQ(kiln_graph_create(&graph), KILN_OK);
  host.mood = Mood::throws;  // a log that throws is not heard, and does no harm
  kiln_graph_destroy(graph);
  EXPECT_EQ(kiln_set_host_allocator(nullptr), KILN_OK);
  EXPECT_EQ(kiln_set_log(nullptr, nullptr), KILN_OK);
}

TEST(Hooks, HalfAHookIsRefused) {
  kiln_allocator hooks{};
  EXPECT_EQ(kiln_set_allocator(&hooks), KILN_ERROR_ARGUMENT);
  hooks.struct_size = sizeof hooks;
  EXPECT_EQ(kiln_set_allocator(&hooks), KILN_ERROR_ARGUMENT);
  kiln_host_allocator host{};
  host.struct_size = sizeof host;
  EXPECT_EQ(kiln_set_host_allocator(&host), KILN_ERROR_ARGUMENT);
}

}  // namespace
