// tests/unit/dsl/array_memory_test.cpp -- ownership and copies on the CPU device.
#include "dsl/array_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "dsl/session.h"
#include "tests/unit/dsl/element_numbers.h"

namespace {

using namespace element_numbers;
using kiln::detail::Handle;

/// Runs on the CPU whatever the default device is.
class Memory : public ::testing::Test {
 protected:
  Memory() { set_current_device({runtime::DeviceKind::cpu, 0}); }
};

OwnedHandle iota_array(const Numbers& shape, DType type = DType::i64) {
  Numbers values(static_cast<std::size_t>(product(shape)));
  std::iota(values.begin(), values.end(), 0);
  return OwnedHandle(kiln::detail::from_host(type, values.data(), shape.data(), static_cast<int>(shape.size())));
}

Numbers host_values(const Handle& h) {
  Numbers values(static_cast<std::size_t>(h.layout->size));
  kiln::detail::to_host(h, values.data(), here);
  return values;
}

Handle viewed(const Handle& h, ViewSpec::Kind kind, const Numbers& numbers) {
  return kiln::detail::view_of(h, static_cast<int>(kind), numbers.data(), static_cast<unsigned>(numbers.size()), here);
}

TEST_F(Memory, FromHostCopies) {
  Numbers values = {1, 2, 3, 4, 5, 6};
  const Numbers shape = {2, 3};
  const OwnedHandle a(kiln::detail::from_host(DType::i64, values.data(), shape.data(), 2));
  values.assign(6, -1);  // the source may change or go
  EXPECT_EQ(host_values(a.get()), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(a.get().layout->shape[1], 3);
}

TEST_F(Memory, ToHostReadsAnyStrides) {
  const OwnedHandle a = iota_array({3, 4, 5});
  const Strided base_layout = base_view({3, 4, 5});
  const Numbers every_other = {0, 0, 0, 1, slice_has_start, -1, 0, -2, slice_is_index, 3, 0, 1};
  const Numbers permutation = {2, 0, 1};
  for (const auto& [kind, numbers] :
       {std::pair{ViewSpec::Kind::slice, every_other}, std::pair{ViewSpec::Kind::transpose, permutation},
        std::pair{ViewSpec::Kind::flip, Numbers{}}, std::pair{ViewSpec::Kind::broadcast_to, Numbers{2, 3, 4, 5}}}) {
    const Handle view = viewed(a.get(), kind, numbers);
    const auto strided =
        *apply_view(base_layout, static_cast<int>(kind), numbers.data(), static_cast<unsigned>(numbers.size()), here);
    EXPECT_EQ(host_values(view), read(strided).elements) << name_of(kind);
  }
}

/// Tiled and merged loops visit what the definition of strides says, for every element size.
TEST_F(Memory, StridedCopiesMatchTheDefinition) {
  const Numbers shape = {2, 37, 3, 41};
  const std::vector<Numbers> permutations = {{0, 1, 2, 3}, {3, 1, 2, 0}, {1, 0, 3, 2}, {2, 3, 1, 0}, {0, 3, 2, 1}};
  for (const std::size_t bytes : {1u, 2u, 4u, 8u, 16u}) {
    std::vector<unsigned char> from(static_cast<std::size_t>(product(shape)) * bytes);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 131 + i / 251);
    for (const Numbers& permutation : permutations) {
      Strided view = flip(transpose(base_view(shape), permutation, here), Numbers{1}, here);
      std::vector<unsigned char> to(from.size());
      copy_strided(to.data(), from.data(), view, bytes);
      const Numbers elements = read(view).elements;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        ASSERT_EQ(std::memcmp(&to[i * bytes], &from[static_cast<std::size_t>(elements[i]) * bytes], bytes), 0)
            << bytes << " bytes, axes " << to_text(permutation) << ", element " << i;
      }
    }
  }
}

/// What GPUs use for strided arrays, compared here with the CPU's loops: every type, all bits.
TEST_F(Memory, KernelCopiesAreExact) {
  try {
    const OwnedHandle a = iota_array({2, 3});
    const OwnedHandle probe = copy_by_kernel(viewed(a.get(), ViewSpec::Kind::transpose, {}), {});
  } catch (const DeviceError& error) {
    // Only a build without the CPU compiler excuses.
    ASSERT_NE(std::string(error.what()).find("libkiln_cpu"), std::string::npos) << error.what();
    GTEST_SKIP() << error.what();
  }
  const Numbers shape = {3, 5, 4};
  for (int i = 0; i < dtype_count; ++i) {
    const DType type = static_cast<DType>(i);
    std::vector<unsigned char> values(60 * size_of(type));
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<unsigned char>(type == DType::b1 ? k % 2 : 0xf7 - 13 * k);  // signalling NaNs among them
    }
    const OwnedHandle a(kiln::detail::from_host(type, values.data(), shape.data(), 3));
    const Handle view = viewed(viewed(a.get(), ViewSpec::Kind::transpose, {2, 0, 1}), ViewSpec::Kind::flip, {1});
    const OwnedHandle by_kernel = copy_by_kernel(view, {}), by_loops(kiln::detail::clone(view));
    ASSERT_EQ(by_kernel.get().layout, by_loops.get().layout) << kiln::name_of(type);
    EXPECT_EQ(std::memcmp(by_kernel.get().data, by_loops.get().data, values.size()), 0) << kiln::name_of(type);
    EXPECT_EQ(storage_of(a.get())->references, 1) << kiln::name_of(type);
  }
}

TEST_F(Memory, ZeroSizeAndZeroDimensions) {
  const OwnedHandle empty = iota_array({3, 0, 4});
  EXPECT_EQ(host_values(empty.get()), Numbers{});
  EXPECT_NE(empty.get().storage, nullptr);
  const OwnedHandle empty_copy(kiln::detail::clone(viewed(empty.get(), ViewSpec::Kind::transpose, {})));
  EXPECT_EQ(empty_copy.get().layout->shape[0], 4);
  const OwnedHandle scalar = iota_array({});
  EXPECT_EQ(host_values(scalar.get()), Numbers{0});
}

TEST_F(Memory, CloneIsIndependentAndInCOrder) {
  const OwnedHandle a = iota_array({2, 3});
  const OwnedHandle copy(kiln::detail::clone(viewed(a.get(), ViewSpec::Kind::transpose, {})));
  std::memset(a.get().data, 0xff, 6 * sizeof(std::int64_t));
  EXPECT_EQ(host_values(copy.get()), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(copy.get().layout->contiguous);
  EXPECT_NE(copy.get().storage, a.get().storage);
  EXPECT_THROW(kiln::detail::clone({}), ShapeError);
}

TEST_F(Memory, ToTheSameDeviceCopies) {
  const OwnedHandle a = iota_array({4});
  const OwnedHandle copy(kiln::detail::to_device(a.get(), 0, 0));
  EXPECT_NE(copy.get().data, a.get().data);
  EXPECT_EQ(host_values(copy.get()), host_values(a.get()));
  EXPECT_THROW(kiln::detail::to_device(a.get(), 1, 99), DeviceError);  // no machine has a hundred GPUs
}

TEST_F(Memory, BorrowedMemoryIsNotFreed) {
  Numbers values = {0, 1, 2, 3, 4, 5, 6, 7};
  const Numbers shape = {2, 3}, strides = {4, -1};
  {
    const OwnedHandle view(kiln::detail::borrow(DType::i64, values.data() + 2, shape.data(), 2, strides.data(), 0, 0));
    EXPECT_EQ(view.get().data, values.data() + 2);
    EXPECT_EQ(host_values(view.get()), (Numbers{2, 1, 0, 6, 5, 4}));
    EXPECT_TRUE(storage_of(view.get())->borrowed);
    EXPECT_EQ(storage_of(view.get())->memory, values.data());  // two elements lie before the first
    EXPECT_EQ(storage_of(view.get())->bytes, 7 * sizeof(std::int64_t));
  }
  EXPECT_EQ(values[7], 7);
}

TEST_F(Memory, BorrowRefusesWhatCannotBeMemory) {
  const std::int64_t three = 3, zero = 0;
  EXPECT_THROW(kiln::detail::borrow(DType::f32, nullptr, &three, 1, nullptr, 0, 0), DeviceError);
  const OwnedHandle empty(kiln::detail::borrow(DType::f32, nullptr, &zero, 1, nullptr, 0, 0));
  EXPECT_EQ(empty.get().layout->size, 0);
  alignas(8) char bytes[16] = {};
  EXPECT_THROW(kiln::detail::borrow(DType::f32, bytes + 1, &three, 1, nullptr, 0, 0), DeviceError);
  const OwnedHandle complex(kiln::detail::borrow(DType::c64, bytes + 4, &zero, 1, nullptr, 0, 0));
  EXPECT_NE(complex.get().storage, nullptr);
}

TEST_F(Memory, SizesThatDoNotFitAreErrorsBeforeAnyAllocation) {
  const Numbers shape = {std::int64_t{1} << 31, std::int64_t{1} << 31, 4};
  EXPECT_THROW(kiln::detail::allocate(DType::u8, shape.data(), 3), ShapeError);
  EXPECT_THROW(kiln::detail::allocate(DType::f64, shape.data(), 2), ShapeError);
}

}  // namespace
