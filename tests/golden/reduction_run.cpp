// tests/golden/reduction_run.cpp -- runs an emitted reduction on arrays of the host and compares with the reference.
#include "tests/golden/reduction_run.h"

namespace kiln::golden {

ReductionRun::ReductionRun(const codegen::Kernel& kernel, std::vector<std::int64_t> extents)
    : kernel_(kernel), extents_(std::move(extents)), kept_(static_cast<std::size_t>(kernel.rank - kernel.reduced)) {
  for (const codegen::Access& access : kernel_.accesses) elements_.emplace_back(access, extents_);
}

std::int64_t ReductionRun::length() const {
  return std::accumulate(extents_.begin() + static_cast<std::ptrdiff_t>(kept_), extents_.end(), std::int64_t{1},
                         std::multiplies<>());
}

void ReductionRun::fill(const std::function<double(std::size_t)>& value) {
  for (std::size_t a = 0; a < kernel_.first_store(); ++a) {
    Elements& elements = elements_[a];
    if (kernel_.accesses[a].iota) continue;
    const std::size_t size = size_of(elements.type);
    const std::size_t count = (elements.bytes.size() - static_cast<std::size_t>(elements.offset)) / size;
    for (std::size_t i = 0; i < count; ++i)
      write_value(elements.type, elements.memory.get() + static_cast<std::size_t>(elements.offset) + i * size,
                  value(i + 7919 * a));
    std::copy_n(elements.memory.get(), elements.bytes.size(), elements.bytes.begin());
  }
}

void ReductionRun::fill_rows(std::size_t a, const std::function<double(std::int64_t, std::int64_t)>& value) {
  std::vector<std::int64_t> at(extents_.size(), 0);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < kept_; ++axis) rows *= extents_[axis];
  for (std::int64_t row = 0; row < rows; ++row) {
    decode(row, extents_, 0, kept_, at);
    for (std::int64_t element = 0; element < length(); ++element) {
      decode(element, extents_, kept_, extents_.size(), at);
      write_value(elements_[a].type, elements_[a].at(at), value(row, element));
    }
  }
  std::copy_n(elements_[a].memory.get(), elements_[a].bytes.size(), elements_[a].bytes.begin());
}

double ReductionRun::result(std::size_t o, std::int64_t row, std::int64_t element) const {
  std::vector<std::int64_t> at(extents_.size(), 0);
  decode(row, extents_, 0, kept_, at);
  if (element > 0) decode(element, extents_, kept_, extents_.size(), at);
  const Elements& out = elements_[kernel_.first_store() + o];
  return read_value(out.type, out.at(at));
}

namespace {

/// As if a grid had room for few blocks along x and y, so that some lie beyond the end.
void stack(LaunchShape& shape) {
  const std::uint32_t groups = shape.grid[0] / shape.cluster, x = std::min(groups, 2u), y = std::min(groups, 3u);
  shape.grid = {x * shape.cluster, y, (groups + x * y - 1) / (x * y)};
}

}  // namespace

void ReductionRun::launch(const codegen::Schedule& schedule, void (*call)(const void*), std::size_t argument_bytes,
                          const std::vector<double>& parameters, std::uint64_t order) {
  const codegen::Extents extents{extents_};
  LaunchShape shape = codegen::launch_shape(kernel_, schedule, extents);
  if (schedule.layers) stack(shape);
  std::vector<std::uint64_t> workspace(shape.workspace_bytes / 8);
  std::vector<std::uint32_t> counters(shape.counters);
  const codegen::ArgumentLayout layout = codegen::argument_layout(kernel_);
  ASSERT_EQ(layout.size, argument_bytes);
  std::vector<std::uint64_t> block(layout.size / 8);
  for (const codegen::Argument& argument : layout.arguments) {
    auto* to = reinterpret_cast<std::uint8_t*>(block.data()) + argument.offset;
    const auto put = [&](auto value) { std::memcpy(to, &value, argument.size); };
    switch (argument.kind) {
      case codegen::ArgumentKind::pointer:
        put(elements_[argument.a].memory.get() + elements_[argument.a].offset);
        break;
      case codegen::ArgumentKind::offset:
        put(std::int64_t{0});
        break;
      case codegen::ArgumentKind::extent:
        put(extents_[argument.axis]);
        break;
      case codegen::ArgumentKind::stride:
        put(elements_[argument.a].strides[argument.axis]);
        break;
      case codegen::ArgumentKind::fold_start:
      case codegen::ArgumentKind::fold_step:
      case codegen::ArgumentKind::fold_length:
        break;  // nothing is read displaced where axes are reduced
      case codegen::ArgumentKind::divisor:
        put(codegen::divisor_of(static_cast<std::uint32_t>(std::max<std::int64_t>(extents_[argument.axis], 1))));
        break;
      case codegen::ArgumentKind::parameter:
        write_value(kernel_.parameters[argument.a], to, parameters[argument.a]);
        break;
      case codegen::ArgumentKind::workspace:
        put(workspace.data());
        break;
      case codegen::ArgumentKind::counters:
        put(counters.data());
        break;
      default:
        ADD_FAILURE() << "the kernels of these tests have no such argument";
        break;
    }
  }
  emulation::launch(shape, true, [&] { call(block.data()); }, order);
  EXPECT_EQ(std::count(counters.begin(), counters.end(), 0u), static_cast<std::ptrdiff_t>(counters.size()))
      << "counters must be left at zero";
}

double ReductionRun::operand(std::size_t a, const std::vector<std::int64_t>& coordinates) const {
  if (!kernel_.accesses[a].iota)  // as it was before anything was written over it
    return read_value(elements_[a].type, elements_[a].bytes.data() + elements_[a].place(coordinates));
  return static_cast<double>(
      std::inner_product(coordinates.begin(), coordinates.end(), elements_[a].strides.begin(), std::int64_t{0}));
}

void ReductionRun::expect(const std::vector<double>& parameters, double tolerance) const {
  const std::size_t first = kernel_.first_store(), rank = extents_.size();
  const auto rows = std::accumulate(extents_.begin(), extents_.begin() + static_cast<std::ptrdiff_t>(kept_),
                                    std::int64_t{1}, std::multiplies<>());
  std::vector<std::vector<std::uint8_t>> rest;  // what no output may touch
  for (std::size_t a = first; a < elements_.size(); ++a)
    rest.emplace_back(elements_[a].memory.get(), elements_[a].memory.get() + elements_[a].bytes.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> at(rank, 0);
    decode(row, extents_, 0, kept_, at);
    const auto expected = reference_row(
        kernel_, static_cast<std::size_t>(length()),
        [&](std::size_t element, std::size_t a) {
          std::vector<std::int64_t> point = at;
          if (element > 0) decode(static_cast<std::int64_t>(element), extents_, kept_, rank, point);
          return operand(a, point);
        },
        parameters);
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const Elements& out = elements_[first + o];
      for (std::size_t e = 0; e < expected[o].size(); ++e) {
        std::vector<std::int64_t> point = at;
        if (e > 0) decode(static_cast<std::int64_t>(e), extents_, kept_, rank, point);
        const double actual = read_value(out.type, out.at(point)), wanted = expected[o][e];
        const bool same = actual == wanted || (std::isnan(actual) && std::isnan(wanted));
        ASSERT_TRUE(same || std::fabs(actual - wanted) <= tolerance * (1 + std::fabs(wanted)))
            << "output " << o << ", row " << row << ", element " << e << ": " << actual << ", not " << wanted;
        std::fill_n(rest[o].begin() + (out.at(point) - out.memory.get()), size_of(out.type), std::uint8_t{0xcd});
      }
    }
  }
  for (std::size_t o = 0; o < rest.size(); ++o) {
    const bool is_own = elements_[first + o].memory.use_count() == 1;
    EXPECT_TRUE(!is_own || rest[o] == elements_[first + o].bytes)
        << "output " << o << " was written between its elements";
  }
}

std::vector<std::uint8_t> ReductionRun::results() const {
  std::vector<std::uint8_t> bytes;
  for (std::size_t a = kernel_.first_store(); a < elements_.size(); ++a)
    bytes.insert(bytes.end(), elements_[a].memory.get(), elements_[a].memory.get() + elements_[a].bytes.size());
  return bytes;
}

}  // namespace kiln::golden
