// tests/device/ranks_test.cpp -- case B09: arrays have up to 8 axes, and every entrance says so of more, with the
// number of axes, the limit and the line; nothing is read or written past a fixed list of extents.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <kiln/dlpack.h>
#include <kiln/npy.h>
#include <kiln/scatter.h>
#include <kiln/ufunc.h>
#include "tests/support/devices.h"
#include "tests/support/messages.h"
#include "tests/support/temporary_directory.h"

namespace {

using Extents = std::vector<std::int64_t>;
using messages::has;
using messages::message_of;

class Ranks : public OnEachDevice {};
KILN_ON_EACH_DEVICE(Ranks);

/// `body` is refused as ShapeError that names the number of axes, the limit, and this file.
void expect_refused(const std::string& what, std::size_t rank, const std::function<void()>& body,
                    bool has_line = true) {
  const std::string message = message_of<kl::ShapeError>(body);
  const bool names_rank = has(message, (std::to_string(rank) + " axes").c_str()) ||
                          has(message, ("rank " + std::to_string(rank)).c_str()) ||
                          has(message, "of 9 or more axes");  // a shape stops at the ninth
  EXPECT_TRUE(names_rank && has(message, "8")) << what << " of rank " << rank << ": " << message;
  if (has_line) {
    EXPECT_TRUE(has(message, "ranks_test.cpp:")) << what << " of rank " << rank << ": " << message;
  }
}

const std::size_t beyond[] = {9, 10, 12, 25, 65, 1000};

TEST_P(Ranks, shapes_of_new_arrays_and_views) {
  const kl::Array<float> one = kl::ones<float>({1}), unit = kl::ones<float>({1, 1, 1, 1, 1, 1, 1, 1});
  float number = 0;
  const kl::Device cpu = kl::Device::cpu();
  for (const std::size_t rank : beyond) {
    const Extents extents(rank, 1);
    expect_refused("an array", rank, [&] { kl::Array<float> a(extents); });
    expect_refused("zeros", rank, [&] { (void)kl::eval(kl::zeros<float>(extents)); });
    expect_refused("full", rank, [&] { (void)kl::eval(kl::full(extents, 1.0f)); });
    expect_refused("random", rank, [&] { (void)kl::eval(kl::random::uniform<float>(extents, 1)); });
    expect_refused("from_host", rank, [&] { (void)kl::from_host(std::vector<float>{1}, extents); });
    expect_refused("view", rank, [&] { (void)kl::view(&number, extents, cpu); });
    expect_refused("view with strides", rank, [&] { (void)kl::view(&number, extents, Extents(rank, 0), cpu); });
    expect_refused("reshape", rank, [&] { (void)one.reshape(extents); });
    expect_refused("broadcast_to", rank, [&] { (void)one.broadcast_to(extents); });
    expect_refused("transpose", rank, [&] { (void)unit.transpose(extents); });
    expect_refused("reshape of an expression", rank, [&] { (void)kl::eval((one + 1.0f).reshape(extents)); });
    expect_refused("broadcast_to of an expression", rank, [&] { (void)kl::eval((one + 1.0f).broadcast_to(extents)); });
    expect_refused("axes of a sum", 9, [&] { (void)kl::eval(kl::sum(unit, extents)); });  // the ninth is refused
  }
  expect_refused("unsqueeze", 9, [&] { (void)unit.unsqueeze(0); });
  expect_refused("unsqueeze of an expression", 9, [&] { (void)kl::eval((unit * 2.0f).unsqueeze(-1)); });
  EXPECT_EQ(unit.reshape({1}).reshape(Extents(8, 1)).ndim(), 8);
}

/// Ranks that come from two operands.
TEST_P(Ranks, of_results_that_join_ranks) {
  const kl::Array<float> five = kl::ones<float>({1, 2, 1, 1, 1}), four = kl::ones<float>({1, 1, 3, 1});
  const kl::Array<std::int64_t> places = kl::zeros<std::int64_t>({1, 1, 1, 1, 1});
  const auto product = kl::ufunc([](auto a, auto b) { return a * b; });
  expect_refused("an outer product", 9, [&] { (void)product.outer(five, four); }, false);
  expect_refused("take", 9, [&] { (void)kl::eval(kl::take(five, places, 0)); });
  EXPECT_EQ(kl::eval(kl::take(four, places, 0)).ndim(), 8);
  const kl::Array<std::int32_t> classes = kl::zeros<std::int32_t>({1, 1, 1, 1, 1, 1, 1, 2});
  expect_refused("one_hot", 9, [&] { (void)kl::eval(kl::one_hot<float>(classes, 3)); });
}

/// The limit is of the array as it is given: a file or a tensor whose axes could be merged is refused too, before
/// anything is read, and what it was read from stays usable.
TEST_P(Ranks, of_files) {
  const kiln::test::TemporaryDirectory directory;
  for (const std::size_t rank : {std::size_t{8}, std::size_t{9}, std::size_t{10}, std::size_t{25}, std::size_t{65}}) {
    std::string shape, header;
    for (std::size_t axis = 0; axis < rank; ++axis) shape += axis == 0 ? "2" : ", 1";
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
    header += '\n';
    const std::string path = directory.path + "/" + std::to_string(rank) + ".npy";
    const auto size = static_cast<std::uint16_t>(header.size());
    const float values[2] = {3, 4};
    std::ofstream file(path, std::ios::binary);
    file << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(size & 255) << static_cast<char>(size >> 8) << header;
    file.write(reinterpret_cast<const char*>(values), sizeof values);
    file.close();
    if (rank == 8) {
      EXPECT_EQ(kl::load_npy<float>(path).to_host(), (std::vector<float>{3, 4}));
      continue;
    }
    const std::string message = message_of([&] { (void)kl::load_npy<float>(path); });
    EXPECT_TRUE(has(message, "at most 8 axes") && has(message, path.c_str()) && has(message, "ranks_test.cpp:"))
        << message;
  }
}

TEST_P(Ranks, of_tensors_of_other_libraries) {
  kl::Array<float> memory = kl::ones<float>({16});
  for (const std::int32_t rank : {8, 9, 10, 25, 65, 1000, -1}) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(std::max(rank, 1)), 1), strides = shape;
    static int deleted;
    deleted = 0;
    kiln_dl_managed_tensor_versioned tensor = {};
    tensor.version = {1, 0};
    tensor.deleter = [](kiln_dl_managed_tensor_versioned*) { ++deleted; };
    tensor.dl_tensor.data = memory.data();
    tensor.dl_tensor.device = {on_gpu() ? KILN_DL_CUDA : KILN_DL_CPU, 0};
    tensor.dl_tensor.ndim = rank;
    tensor.dl_tensor.dtype = {KILN_DL_FLOAT, 32, 1};
    tensor.dl_tensor.shape = shape.data();
    tensor.dl_tensor.strides = strides.data();
    if (rank == 8) {
      EXPECT_EQ(kl::from_dlpack<float>(&tensor).ndim(), 8);
      continue;
    }
    const std::string message = message_of<kl::ShapeError>([&] { (void)kl::from_dlpack<float>(&tensor); });
    EXPECT_TRUE(has(message, (std::to_string(rank) + " axes").c_str()) && has(message, "0 to 8")) << message;
    EXPECT_TRUE(has(message, "ranks_test.cpp:")) << message;
    if (!on_gpu()) continue;
    kl::CudaArrayInterface array = {};
    array.data = memory.data();
    array.ndim = rank;
    array.shape = shape.data();
    array.typestr = "<f4";
    array.version = 3;
    EXPECT_TRUE(has(message_of<kl::ShapeError>([&] { (void)kl::from_cuda_array_interface<float>(array); }), "0 to 8"));
  }
}

/// What has 8 axes works: reversed, beside itself, reduced and scanned over some of them, in and out of functions.
TEST_P(Ranks, eight_axes_work_everywhere) {
  std::vector<std::int32_t> numbers(6561);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i);
  const kl::Array<std::int32_t> x = kl::from_host(numbers, kl::Shape(Extents(8, 3)));
  const auto digits = [](std::int64_t i) {
    Extents at(8);
    for (std::size_t axis = 8; axis-- > 0; i /= 3) at[axis] = i % 3;
    return at;
  };
  const auto number = [](const Extents& at) {
    std::int64_t i = 0;
    for (const std::int64_t digit : at) i = 3 * i + digit;
    return i;
  };
  const Extents order = {3, 0, 7, 1, 6, 2, 5, 4};
  const std::vector<std::int32_t> turned = kl::eval(x.transpose(order).flip(2) - x).to_host();
  const std::vector<std::int64_t> running = kl::eval(kl::cumsum(x, 3)).to_host();
  const std::vector<std::int64_t> sums = kl::eval(kl::sum(x, {0, 2, 3, 5, 7})).to_host();
  std::vector<std::int64_t> expected_sums(27);
  for (std::int64_t i = 0; i < 6561; ++i) {
    Extents at = digits(i), from(8);
    at[2] = 2 - at[2];
    for (std::size_t axis = 0; axis < 8; ++axis) from[static_cast<std::size_t>(order[axis])] = at[axis];
    ASSERT_EQ(turned[static_cast<std::size_t>(i)], number(from) - i) << i;
    at = digits(i);
    std::int64_t total = 0;
    for (std::int64_t k = digits(i)[3]; k >= 0; --k) at[3] = k, total += number(at);
    ASSERT_EQ(running[static_cast<std::size_t>(i)], total) << i;
    at = digits(i);
    expected_sums[static_cast<std::size_t>(9 * at[1] + 3 * at[4] + at[6])] += i;
  }
  EXPECT_EQ(sums, expected_sums);
  const auto f = kl::jit([](auto v, auto row) { return v * 2 + row; });
  EXPECT_EQ(f(x, kl::zeros<std::int32_t>({3})).to_host()[6560], 2 * 6560);
}

}  // namespace
