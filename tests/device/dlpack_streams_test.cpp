// tests/device/dlpack_streams_test.cpp -- kiln inside another program: streams of producers and consumers, CUDA arrays,
// the host's allocator.
#include <kiln/host.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/support/check.h"
#include "tests/support/producer.h"

namespace {

using namespace producer;

class DlpackStreams : public OnEachDevice {};

// ------------------------------------------------------------------ streams
TEST_P(DlpackStreams, the_producers_stream_orders_the_work_without_waiting) {
  kl::Stream producer(device), consumer(device);
  for (int repeat = 0; repeat < 50; ++repeat) {
    Producer<float> p(kl::full({1 << 20}, -1.0f), {1 << 20});
    kl::synchronize();
    {
      kl::StreamGuard there(producer);
      p.memory = 2.0f;  // in place, on the producer's stream
    }
    kl::StreamGuard here(consumer);
    EXPECT_EQ(kl::sum(kl::from_dlpack<const float>(&p.managed, {.stream = producer})).item(), 2.0f * (1 << 20));
  }
  kl::order(producer, producer);
  kl::order(producer, consumer);
}

TEST_P(DlpackStreams, a_consumers_stream_comes_after_the_current_one) {
  kl::Stream consumer(device);
  for (int repeat = 0; repeat < 50; ++repeat) {
    kl::Array<float> x = kl::full({1 << 20}, static_cast<float>(repeat));
    kiln_dl_managed_tensor_versioned* const out = kl::to_dlpack(x, {.stream = consumer});
    x = kl::Array<float>();
    kl::Array<float> total;
    {
      kl::StreamGuard there(consumer);
      total = kl::sum(kl::borrow_dlpack<float>(out->dl_tensor));
      out->deleter(out);  // its memory is not given to others before the consumer's work is done
    }
    kl::Array<float> other = kl::full({1 << 20}, -1.0f);
    kl::StreamGuard there(consumer);
    EXPECT_EQ(total.item(), static_cast<float>(repeat) * (1 << 20));
  }
}

TEST_P(DlpackStreams, names_of_default_streams) {
  for (const std::uintptr_t name : {0, 1, 2}) {
    const kl::Stream stream = kl::Stream::wrap(reinterpret_cast<void*>(name), device);
    kl::StreamGuard there(stream);
    Producer<float> p(counting(6), {6});
    {
      const auto x = kl::from_dlpack<const float>(&p.managed, {.stream = stream});
      EXPECT_EQ(kl::sum(x).item(), 15.0f);
    }
    EXPECT_EQ(p.deletions(), 1);
  }
}

/// The per-thread default stream is another one on each thread: what one frees is not given to the other too early
/// (D04).
TEST_P(DlpackStreams, per_thread_default_streams_share_memory_safely) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      kl::DeviceGuard on(device);
      const kl::Stream own = kl::Stream::wrap(reinterpret_cast<void*>(2), device);
      kl::StreamGuard here(own);
      const auto mine = static_cast<float>(t + 1);
      for (int i = 0; i < 300; ++i) {
        kl::Array<float> x = kl::full({1 << 16}, mine);
        kl::Array<float> y = x * 2.0f;
        x = kl::Array<float>();
        kl::Array<float> z = kl::full({1 << 16}, -mine);
        wrong += kl::max(y).item() != 2 * mine || kl::min(y).item() != 2 * mine;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ------------------------------------------------------------------ the CUDA array interface
TEST_P(DlpackStreams, cuda_array_interface) {
  if (!on_gpu()) GTEST_SKIP() << "CUDA arrays are on a GPU";
  kl::Array<float> memory = counting(12);
  std::int64_t shape[8], strides[8];
  kl::CudaArrayInterface array = kl::to_cuda_array_interface(memory.reshape({3, 4}).t(), shape, strides);
  EXPECT_STREQ(array.typestr, "<f4");
  EXPECT_EQ(array.strides[0], 4) << "bytes";
  EXPECT_EQ(array.strides[1], 16);
  EXPECT_EQ(array.stream, 1u) << "the legacy default stream has the number 1 here";
  int released = 0;
  const auto release = [](void* count) { ++*static_cast<int*>(count); };
  EXPECT_EQ(kl::from_cuda_array_interface<const float>(array, release, &released).to_host(),
            (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  kl::synchronize();
  for (int i = 0; i < 2000 && released == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(released, 1);
  const auto refused = [&](kl::CudaArrayInterface a) {
    released = 0;
    std::string text = message_of<kl::Error>([&] { kl::from_cuda_array_interface<float>(a, release, &released); });
    EXPECT_EQ(released, 1) << "the owner is told in every case";
    return text;
  };
  auto other = array;
  other.stream = 0;
  EXPECT_TRUE(has(refused(other), "stream 0"));
  other = array, other.mask = &other;
  EXPECT_TRUE(has(refused(other), "masked"));
  other = array, other.typestr = ">f4";
  EXPECT_TRUE(has(refused(other), "\">f4\""));
  other = array, other.read_only = true;
  EXPECT_TRUE(has(refused(other), "read-only"));
  other = array, other.version = 4;
  EXPECT_TRUE(has(refused(other), "version 4"));
  std::int64_t odd[2] = {6, 4};
  other = array, other.strides = odd;
  EXPECT_TRUE(has(refused(other), "stride 6"));
}

KILN_ON_EACH_DEVICE(DlpackStreams);

// ------------------------------------------------------------------ the host's allocator
TEST(HostAllocator, arrays_and_temporaries_of_the_cpu_come_from_the_host) {
#ifdef KILN_WITHOUT_CPU_COMPILER
  GTEST_SKIP() << "built without the CPU compiler";
#endif
  static std::atomic<long> out{0}, given{0};
  const kl::DeviceGuard on(kl::Device::cpu());
  kl::set_allocator(kl::DeviceKind::cpu, {nullptr,
                                          [](void*, std::size_t bytes, int, void*) -> void* {
                                            ++out, ++given;
                                            return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
                                          },
                                          [](void*, void* memory, std::size_t, int, void*) {
                                            --out;
                                            std::free(memory);
                                          }});
  {
    kl::Array<float> x = counting(100);
    EXPECT_EQ(kl::sum(x * x - kl::mean(x)).item(), 328350.0f - 4950.0f);  // exact: integers and halves
    EXPECT_GE(given, 2);
  }
  EXPECT_EQ(out, 0);
  kl::set_allocator(kl::DeviceKind::cpu, {nullptr, [](void*, std::size_t, int, void*) -> void* { return nullptr; },
                                          [](void*, void*, std::size_t, int, void*) {}});
  EXPECT_THROW(counting(10), kl::OutOfMemory);
  kl::set_allocator(kl::DeviceKind::cpu, {});
  EXPECT_EQ(kl::sum(counting(4)).item(), 6.0f);
  EXPECT_THROW(kl::set_allocator(kl::DeviceKind::cpu, {nullptr, nullptr, [](void*, void*, std::size_t, int, void*) {}}),
               kl::DeviceError);
}

}  // namespace
