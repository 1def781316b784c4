// dsl/c/graph_attributes.cpp -- reads the attributes of a line: types, numbers, lists, slices, bits and names.
#include "dsl/c/graph_attributes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "dsl/c/tables.h"

namespace kiln::dsl::c {
namespace {

DType read_type(LineReader& line) {
  const std::string_view name = line.word();
  const std::optional<DType> type = dtype_of_name(name);
  if (!type) line.fail("'{}' is no element type", name);
  return *type;
}

std::int32_t read_name(LineReader& line, std::span<const Named> names) {
  const std::string_view name = line.word();
  const std::optional<std::int32_t> number = number_of(names, name);
  if (number) return *number;
  std::string known;
  for (const Named& named : names) known += fmt::format("{}{}", known.empty() ? "" : ", ", named.name);
  line.fail("'{}' is none of {}", name, known);
}

void read_bits(LineReader& line, std::int64_t* bits) {
  const std::string_view digits = line.word();
  if (!digits.starts_with("0x") || digits.size() < 3 || digits.size() > 34)
    line.fail("bits are 0x and 1 to 32 hexadecimal digits");
  const std::string_view all = digits.substr(2);
  const std::size_t low = std::min<std::size_t>(16, all.size());
  const auto read = [&](std::string_view part, std::int64_t& word) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (error != std::errc() || end != part.data() + part.size()) line.fail("'{}' is no hexadecimal number", digits);
    word = static_cast<std::int64_t>(value);
  };
  read(all.substr(all.size() - low), bits[0]);
  if (all.size() > low) read(all.substr(0, all.size() - low), bits[1]);
}

/// An index, or start:stop:step of which each but the colons may be left out.
void read_item(LineReader& line, std::vector<std::int64_t>& numbers) {
  const auto absent = [&] { return line.starts_with(':') || line.starts_with(',') || line.starts_with(']'); };
  const auto bound = [&] { return line.integer<std::int64_t>("a bound"); };
  std::int64_t flags = 0, start = 0, stop = 0, step = 1;
  if (!absent()) start = bound(), flags |= KILN_SLICE_HAS_START;
  if (!line.take(':')) {
    if (flags == 0) line.fail("an index or a range is expected{}", line.here());
    flags |= KILN_SLICE_INDEX;
  } else {
    if (!absent()) stop = bound(), flags |= KILN_SLICE_HAS_STOP;
    if (line.take(':') && !absent()) step = bound();
  }
  numbers.insert(numbers.end(), {flags, start, stop, step});
}

void read_value_of(LineReader& line, Attribute attribute, Attributes& to) {
  const auto numbers = [&] {
    line.list([&] {
      if (to.list.size() == 64) line.fail("a list of more than 64 numbers");
      to.list.push_back(line.integer<std::int64_t>("a number"));
    });
  };
  switch (attribute) {
    case has_type:
      to.type = read_type(line);
      return;
    case has_accumulate:
      to.accumulate = read_type(line);
      return;
    case has_rank:
    case has_axis:
      to.number = line.integer<std::int64_t>("a number");
      return;
    case has_ddof:
      to.ddof = line.integer<std::int64_t>("a number");
      return;
    case has_function:
      to.function = line.quoted();
      return;
    case has_bits:
      return read_bits(line, to.bits);
    case has_outside:
      to.outside = read_name(line, outside_names());
      return;
    case has_beyond:
      to.beyond = read_name(line, beyond_names());
      return;
    case has_items:
      return line.list([&] {
        if (to.list.size() == 64) line.fail("a slice of more than 16 items");
        read_item(line, to.list);
      });
    default:
      return numbers();
  }
}

}  // namespace

Attributes read_attributes(LineReader& line) {
  Attributes result;
  while (!line.at_end() && !line.starts_with('{')) {
    const std::string_view name = line.word();
    const auto* const found = std::find(std::begin(attribute_names), std::end(attribute_names), name);
    if (found == std::end(attribute_names)) line.fail("'{}' is not known{}", name, line.here());
    const auto attribute = static_cast<Attribute>(1u << (found - attribute_names));
    if (result.seen & attribute) line.fail("{} stands twice", name);
    result.seen |= attribute;
    if (attribute == has_strong || attribute == has_keepdims) continue;
    line.expect('=');
    read_value_of(line, attribute, result);
  }
  return result;
}

}  // namespace kiln::dsl::c
