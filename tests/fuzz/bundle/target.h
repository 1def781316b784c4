// tests/fuzz/bundle/target.h -- what a fuzzer of the bundle parser runs, and what it begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Parses the bytes as they are, then with checksums that fit, and aborts if anything is accepted that is no bundle, or
/// if a bundle does not survive being written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kiln::fuzz {

/// How many bundles the runs so far accepted: none would mean that nothing behind the checks was tested.
std::uint64_t accepted_bundles();

/// Small bundles of many shapes.
std::vector<std::string> bundle_seeds();

/// The bytes with right checksums of manifest and images, wherever the manifest can be followed at all.
std::string with_right_checksums(std::string bytes);

}  // namespace kiln::fuzz
