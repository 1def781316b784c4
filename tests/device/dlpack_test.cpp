// tests/device/dlpack_test.cpp -- tensors of other libraries: what is accepted, who owns them and how long (cases E01
// and E03), strides, offsets, types, read-only tensors, and the way out.
#include <atomic>
#include <complex>
#include <cstring>
#include <thread>

#include "tests/support/check.h"
#include "tests/support/producer.h"

namespace {

using namespace producer;

class Dlpack : public OnEachDevice {};

// ------------------------------------------------------------------ E01: what producers send
TEST_P(Dlpack, null_strides_are_c_order_in_both_forms) {  // E01: sum of 0..5 is 15
  for (const bool legacy : {false, true}) {
    for (const bool with_strides : {false, true}) {
      Producer<float> p(counting(6), {2, 3},
                        with_strides ? std::vector<std::int64_t>{3, 1} : std::vector<std::int64_t>{});
      p.managed.version.minor = with_strides ? 2 : 0;
      {
        const auto x = legacy ? kl::from_dlpack<const float>(&p.legacy) : kl::from_dlpack<const float>(&p.managed);
        EXPECT_EQ(kl::sum(x).item(), 15.0f);
        EXPECT_EQ(x.strides(), (kl::Shape{3, 1}));
        EXPECT_EQ(p.deleted, 0);
      }
      EXPECT_EQ(p.deletions(), 1);
    }
  }
}

TEST_P(Dlpack, scalars_and_empty_tensors) {
  Producer<float> scalar(kl::from_host({7.5f}), {});
  EXPECT_EQ(kl::eval(kl::from_dlpack<float>(&scalar.managed) * 2.0f).item(), 15.0f);
  EXPECT_EQ(scalar.deletions(), 1);
  Producer<float> empty(kl::from_host({0.0f}), {0, 3});
  empty.tensor().data = nullptr;
  {
    const auto x = kl::from_dlpack<float>(&empty.managed);
    EXPECT_EQ(x.shape(), (kl::Shape{0, 3}));
    EXPECT_EQ(kl::sum(x).item(), 0.0f);
    EXPECT_EQ(kl::eval(x + 1.0f).shape(), (kl::Shape{0, 3}));
  }
  EXPECT_EQ(empty.deletions(), 1);
}

TEST_P(Dlpack, offsets_and_strides_of_any_sign) {
  Producer<float> p(counting(12), {2, 3}, {-6, 2});  // from element 7: 7 9 11 / 1 3 5
  p.tensor().byte_offset = 7 * sizeof(float);
  EXPECT_EQ(kl::eval(kl::from_dlpack<float>(&p.managed) + 0.0f).to_host(), (std::vector<float>{7, 9, 11, 1, 3, 5}));
  Producer<float> same(counting(3), {4, 2}, {0, 1});
  EXPECT_EQ(kl::from_dlpack<const float>(&same.managed).to_host(), (std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1}));
  Producer<float> odd(counting(4), {1});
  odd.tensor().byte_offset = 2;
  EXPECT_TRUE(has(message_of<kl::DeviceError>([&] { kl::from_dlpack<float>(&odd.managed); }), "not a multiple of 4"));
  EXPECT_EQ(odd.deletions(), 1);
}

template <class T>
void expect_round_trip(std::uint8_t code, std::uint8_t bits, const std::vector<T>& values) {
  const auto want = values;
  kl::Array<T> x = kl::from_host(values);
  kiln_dl_managed_tensor_versioned* const tensor = kl::to_dlpack(x);
  EXPECT_EQ(tensor->version.major, 1u);
  EXPECT_EQ(tensor->dl_tensor.dtype.code, code);
  EXPECT_EQ(tensor->dl_tensor.dtype.bits, bits);
  EXPECT_EQ(tensor->dl_tensor.dtype.lanes, 1);
  EXPECT_EQ(kl::dlpack_dtype(tensor->dl_tensor), kl::dtype_of<T>);
  ASSERT_NE(tensor->dl_tensor.strides, nullptr) << "since DLPack 1.2 producers must fill them in";
  EXPECT_EQ(tensor->dl_tensor.strides[0], 1);
  EXPECT_EQ(kl::from_dlpack<T>(tensor).to_host(), want) << kl::name_of(kl::dtype_of<T>);
}

TEST_P(Dlpack, every_type_there_and_back) {  // codes of dlpack.h
  expect_round_trip<bool>(6, 8, {true, false, true});
  expect_round_trip<std::int8_t>(0, 8, {-128, 1});
  expect_round_trip<std::int16_t>(0, 16, {-300});
  expect_round_trip<std::int32_t>(0, 32, {-70000});
  expect_round_trip<std::int64_t>(0, 64, {-(std::int64_t{1} << 40)});
  expect_round_trip<std::uint8_t>(1, 8, {255});
  expect_round_trip<std::uint16_t>(1, 16, {65535});
  expect_round_trip<std::uint32_t>(1, 32, {4000000000u});
  expect_round_trip<std::uint64_t>(1, 64, {~std::uint64_t{0}});
  expect_round_trip<kl::half>(2, 16, {kl::half(1.5f), kl::half(-2.0f)});
  expect_round_trip<kl::bfloat16>(4, 16, {kl::bfloat16(3.0f)});
  expect_round_trip<float>(2, 32, {1.25f});
  expect_round_trip<double>(2, 64, {1e300});
  expect_round_trip<std::complex<float>>(5, 64, {{1, -2}});
  expect_round_trip<std::complex<double>>(5, 128, {{1, -2}});
}

TEST_P(Dlpack, what_is_refused_is_named_and_deleted_once) {  // E01 and E03: the deleter runs on failure too
  struct Case {
    kiln_dl_data_type type;
    const char* says;
  };
  for (const Case& c :
       {Case{{2, 32, 2}, "2 lanes"}, Case{{10, 8, 1}, "float8_e4m3fn"}, Case{{0, 4, 1}, "int of 4 bits"},
        Case{{99, 8, 1}, "code 99"}, Case{{3, 64, 1}, "opaque handle"}, Case{{0, 32, 1}, "i32"}}) {
    Producer<float> p(counting(6), {6});
    p.tensor().dtype = c.type;
    const std::string text = message_of<kl::TypeError>([&] { kl::from_dlpack<float>(&p.managed); });
    EXPECT_TRUE(has(text, c.says)) << text;
    EXPECT_TRUE(has(text, "dlpack_test.cpp:")) << "the user's line: " << text;
    EXPECT_EQ(p.deleted, 1);
  }
  for (const auto& [type, says] : {std::pair{10, "ROCm"}, {8, "Metal"}, {14, "oneAPI"}, {77, "unknown device"}}) {
    Producer<float> p(counting(6), {6});
    p.tensor().device.device_type = type;
    EXPECT_TRUE(has(message_of<kl::DeviceError>([&] { kl::from_dlpack<float>(&p.managed); }), says));
    EXPECT_EQ(p.deleted, 1);
  }
  Producer<float> deep(counting(1), std::vector<std::int64_t>(9, 1));
  EXPECT_TRUE(has(message_of<kl::ShapeError>([&] { kl::from_dlpack<float>(&deep.managed); }), "9 axes"));
  EXPECT_EQ(deep.deleted, 1);
  Producer<float> null(counting(1), {4});
  null.tensor().data = nullptr;
  EXPECT_TRUE(has(message_of<kl::DeviceError>([&] { kl::from_dlpack<float>(&null.managed); }), "null pointer"));
  EXPECT_EQ(null.deleted, 1);
  Producer<float> large(counting(1), {std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_THROW(kl::from_dlpack<float>(&large.managed), kl::ShapeError);
  EXPECT_EQ(large.deleted, 1);
  EXPECT_THROW(kl::from_dlpack<float>(static_cast<kiln_dl_managed_tensor*>(nullptr)), kl::TypeError);
}

TEST_P(Dlpack, of_an_unknown_major_version_only_the_deleter_is_touched) {
  Producer<float> p(counting(6), {6});
  p.managed.version = {2, 0};
  std::memset(&p.managed.flags, 0xff, sizeof p.managed - offsetof(kiln_dl_managed_tensor_versioned, flags));
  const std::string text = message_of<kl::TypeError>([&] { kl::from_dlpack<float>(&p.managed); });
  EXPECT_TRUE(has(text, "DLPack 2.0")) << text;
  EXPECT_EQ(p.deleted, 1);
}

TEST_P(Dlpack, read_only_tensors_are_not_written) {
  Producer<float> refused(counting(6), {6});
  refused.managed.flags = KILN_DL_FLAG_READ_ONLY;
  EXPECT_TRUE(has(message_of<kl::TypeError>([&] { kl::from_dlpack<float>(&refused.managed); }), "read-only"));
  EXPECT_EQ(refused.deleted, 1);
  Producer<float> read(counting(6), {6});
  read.managed.flags = KILN_DL_FLAG_READ_ONLY;
  EXPECT_EQ(kl::sum(kl::from_dlpack<const float>(&read.managed)).item(), 15.0f);
  const kl::Array<float> constant = counting(3);
  kiln_dl_managed_tensor_versioned* const out = kl::to_dlpack(constant);
  EXPECT_EQ(out->flags & KILN_DL_FLAG_READ_ONLY, KILN_DL_FLAG_READ_ONLY);
  EXPECT_THROW(kl::to_dlpack_legacy(constant), kl::TypeError) << "the old form cannot say it";
  EXPECT_THROW(kl::from_dlpack<float>(out), kl::TypeError);
  kl::Array<float> changing = counting(3);
  kiln_dl_managed_tensor_versioned* const free = kl::to_dlpack(changing);
  EXPECT_EQ(free->flags, 0u);
  free->deleter(free);
}

// ------------------------------------------------------------------ E03: who owns it, and how long
TEST_P(Dlpack, writes_go_to_the_producers_memory) {
  Producer<float> p(counting(6), {2, 3});
  kl::from_dlpack<float>(&p.managed) *= 10.0f;
  EXPECT_EQ(p.deletions(), 1);
  EXPECT_EQ(p.memory.to_host(), (std::vector<float>{0, 10, 20, 30, 40, 50}));
}

TEST_P(Dlpack, dropped_while_a_kernel_is_queued_and_on_another_thread) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    Producer<float> p(counting(1 << 16), {1 << 16});
    kl::Array<float> y;
    {
      auto x = kl::from_dlpack<const float>(&p.managed);
      y = x * 2.0f + 1.0f;
      std::thread([moved = std::move(x)]() mutable { const auto last = std::move(moved); }).join();
    }
    EXPECT_EQ(p.deletions(), 1);
    EXPECT_EQ(y(3).item(), 7.0f);
  }
}

TEST_P(Dlpack, many_threads_share_one_tensor) {
  Producer<float> p(counting(1000), {1000});
  kl::synchronize();  // the threads use streams of their own, which nothing orders after the one that fills it
  {
    const auto x = kl::from_dlpack<const float>(&p.managed);
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([copy = x, &right, this] {
        kl::DeviceGuard on(device);
        kl::Stream stream(device);
        kl::StreamGuard there(stream);
        right += kl::sum(copy).item() == 499500.0f;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, 8);
    EXPECT_EQ(p.deleted, 0);
  }
  EXPECT_EQ(p.deletions(), 1);
}

TEST_P(Dlpack, no_deleter_and_bare_tensors) {
  Producer<float> p(counting(6), {6});
  p.managed.deleter = nullptr;
  EXPECT_EQ(kl::sum(kl::from_dlpack<float>(&p.managed)).item(), 15.0f);
  EXPECT_EQ(kl::sum(kl::borrow_dlpack<const float>(p.tensor())).item(), 15.0f);
  kl::synchronize();
  EXPECT_EQ(p.deleted, 0);
}

TEST_P(Dlpack, exported_twice_dropped_unconsumed_and_outliving_the_array) {
  kl::Array<float> x = counting(6);
  kiln_dl_managed_tensor_versioned* const first = kl::to_dlpack(x);
  kiln_dl_managed_tensor* const second = kl::to_dlpack_legacy(x(kl::range(kl::none, kl::none, -1)));
  EXPECT_EQ(first->dl_tensor.data, x.data());
  EXPECT_EQ(second->dl_tensor.strides[0], -1);
  EXPECT_EQ(second->dl_tensor.byte_offset, 0u);
  EXPECT_EQ(*reinterpret_cast<const long*>(x.handle().storage), 3);
  first->deleter(first);
  x = kl::Array<float>();
  EXPECT_EQ(kl::from_dlpack<float>(second).to_host(), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  kl::Array<float> original = counting(2);
  kiln_dl_managed_tensor_versioned* const copy = kl::to_dlpack(original, {.copy = true});
  EXPECT_EQ(copy->flags, KILN_DL_FLAG_IS_COPIED);
  EXPECT_NE(copy->dl_tensor.data, original.data());
  std::thread([&] { copy->deleter(copy); }).join();
  kl::Array<float> none({0, 3});
  kiln_dl_managed_tensor_versioned* const empty = kl::to_dlpack(none);
  EXPECT_EQ(empty->dl_tensor.data, nullptr);
  EXPECT_EQ(empty->dl_tensor.shape[1], 3);
  empty->deleter(empty);
  EXPECT_THROW(kl::to_dlpack(kl::Array<float>()), kl::ShapeError);
}

TEST_P(Dlpack, a_graph_keeps_the_tensors_it_uses) {  // D05: replays see new values
  Producer<float> p(counting(6), {6});
  kl::Array<float> y({6});
  {
    kl::Graph graph = [&] {
      auto x = kl::from_dlpack<const float>(&p.managed);
      return kl::capture([&] { y = x + 1.0f; });
    }();
    EXPECT_EQ(p.deleted, 0);
    for (int i = 0; i < 3; ++i) {
      p.memory = counting(6) * static_cast<float>(i);
      graph.launch();
      EXPECT_EQ(y(5).item(), 5.0f * static_cast<float>(i) + 1.0f);
    }
  }
  EXPECT_EQ(p.deletions(), 1);
}

KILN_ON_EACH_DEVICE(Dlpack);

}  // namespace
