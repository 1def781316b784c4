// tests/fuzz/graph_text/target.h -- what a fuzzer of kiln_graph_parse runs, and what it begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Reads the bytes as the text of a graph. Aborts unless they are refused with the line, or are a graph whose own text
/// is read to the same text, and of which a kernel can be made.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kiln::fuzz {

/// How many texts the runs so far accepted: none would mean that nothing behind the first checks was tested.
std::uint64_t accepted_texts();

/// Texts with every kind of line.
std::vector<std::string> text_seeds();

}  // namespace kiln::fuzz
