// tests/golden/emulation_run.h -- calls an emitted kernel as the launcher would, on buffers of the host.
#pragma once

#include <gtest/gtest.h>

#include "codegen/schedule/divisor.h"
#include "tests/golden/emulation.h"
#include "tests/golden/kernels.h"

namespace kiln::golden {

/// One call: what the launcher would know.
struct Call {
  std::vector<const void*> pointers;                       ///< per access; null for iotas
  std::vector<std::vector<std::int64_t>> strides;          ///< per access and axis
  std::vector<std::vector<std::uint8_t>> parameters = {};  ///< bytes of each scalar
};

template <class T>
std::vector<std::uint8_t> bytes_of(T value) {
  std::vector<std::uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

template <class Arguments>
Arguments fill(const Case& test, const Call& call) {
  const codegen::ArgumentLayout layout = codegen::argument_layout(test.kernel);
  EXPECT_EQ(sizeof(Arguments), layout.size);
  Arguments arguments;
  auto* block = reinterpret_cast<std::uint8_t*>(&arguments);
  for (const codegen::Argument& argument : layout.arguments) {
    std::uint8_t* to = block + argument.offset;
    const auto put_index = [&](std::int64_t value) { std::memcpy(to, &value, argument.size); };  // little endian
    switch (argument.kind) {
      case codegen::ArgumentKind::pointer:
        std::memcpy(to, &call.pointers[argument.a], 8);
        break;
      case codegen::ArgumentKind::offset:
        put_index(0);
        break;
      case codegen::ArgumentKind::extent:
        put_index(test.extents.loop[argument.axis]);
        break;
      case codegen::ArgumentKind::stride:
        put_index(call.strides[argument.a][argument.axis]);
        break;
      case codegen::ArgumentKind::divisor: {
        const auto divisor = codegen::divisor_of(static_cast<std::uint32_t>(test.extents.loop[argument.axis]));
        std::memcpy(to, &divisor, 8);
        break;
      }
      case codegen::ArgumentKind::parameter:
        std::memcpy(to, call.parameters[argument.a].data(), argument.size);
        break;
      case codegen::ArgumentKind::fold_start:
      case codegen::ArgumentKind::fold_step:
      case codegen::ArgumentKind::fold_length:
        ADD_FAILURE() << "none of these kernels has a fold";
        break;
      case codegen::ArgumentKind::workspace:
      case codegen::ArgumentKind::counters:
        EXPECT_GT(test.kernel.reduced, 0) << "an elementwise kernel has no workspace";
        std::memset(to, 0, argument.size);  // no blocks of these share a row
        break;
      default:
        ADD_FAILURE() << "the kernels of these tests have no such argument";
        break;
    }
  }
  return arguments;
}

/// The golden case `name` with other extents of the same class, so that the text is the same.
inline Case resized(const std::string& name, std::vector<std::int64_t> extents) {
  for (Case& test : cases()) {
    if (test.name != name) continue;
    const std::string key = schedule_of(test).key();
    test.extents.loop = std::move(extents);
    EXPECT_EQ(schedule_of(test).key(), key) << name << ": the extents belong to another class";
    return test;
  }
  ADD_FAILURE() << "no golden case " << name;
  return {};
}

template <class Arguments>
void run(const Case& test, void (*kernel)(const Arguments), const Call& call) {
  const auto arguments = fill<Arguments>(test, call);
  const codegen::Schedule schedule = schedule_of(test);
  const bool synchronises =
      schedule.form == codegen::Template::transpose || schedule.bins > 0 || test.kernel.reduced > 0;
  emulation::launch(shape_of(test), synchronises, [&] { kernel(arguments); });
}

/// Aligned to 16 bytes as device memory is, exactly as long as the data, so that sanitizers see every overrun.
template <class T>
struct Buffer {
  explicit Buffer(std::size_t count)
      : size(count), data(static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{16}))) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::operator delete(data, std::align_val_t{16}); }
  T& operator[](std::size_t i) { return data[i]; }
  std::size_t size;
  T* data;
};

template <class T>
void number(Buffer<T>& buffer, double scale, double start) {
  for (std::size_t i = 0; i < buffer.size; ++i)
    buffer[i] = static_cast<T>(start + scale * static_cast<double>(i % 251));
}

}  // namespace kiln::golden
