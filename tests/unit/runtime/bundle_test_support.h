// tests/unit/runtime/bundle_test_support.h -- small bundles, and what must be read from them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/bundle/bundle.h"
#include "support/check.h"

namespace kiln::runtime::test_support {

struct Sample {
  BundleKernel kernel;
  std::string image;
};

/// The image says which kernel it is, so that a wrong one cannot pass for the right one.
inline Sample make_sample(const std::string& name, std::string_view target, ImageKind kind) {
  Sample sample;
  sample.kernel.identity = blake3(name);
  sample.kernel.target = target;
  sample.kernel.kind = kind;
  sample.kernel.identity_version = 3;
  sample.kernel.entry = "kiln_kernel";
  sample.kernel.title = "saxpy f32[n]";
  sample.kernel.options = "contract";
  sample.kernel.compiler = kind == ImageKind::object ? "LLVM 19.1.7" : "NVRTC 13.0";
  sample.kernel.plan = "schedule flat\nitems\t4";
  sample.kernel.registers = 32;
  sample.kernel.spill_bytes = 0;
  sample.kernel.shared_bytes = 1024;
  sample.image = "image of " + name + " for " + std::string(target);
  if (kind == ImageKind::ptx) sample.image += '\0';
  return sample;
}

/// Two kernels, four targets, one image that both share.
inline std::vector<Sample> small_samples() {
  std::vector<Sample> samples = {
      make_sample("one", "sm_80", ImageKind::cubin), make_sample("one", "sm_90a", ImageKind::cubin),
      make_sample("one", "ptx_80", ImageKind::ptx), make_sample("one", "x86-64-v3", ImageKind::object),
      make_sample("two", "sm_80", ImageKind::cubin)};
  samples.push_back(samples.front());
  samples.back().kernel.identity = blake3("three");
  return samples;
}

inline BundleWriter writer_of(const std::vector<Sample>& samples) {
  BundleWriter writer;
  for (const Sample& sample : samples) writer.add(sample.kernel, sample.image);
  return writer;
}

inline std::string small_bundle() {
  BundleWriter writer = writer_of(small_samples());
  writer.add(BundleTuning{"NVIDIA H200", 132, "saxpy block 256\n"});
  writer.add(BundleTuning{"NVIDIA A100", 108, ""});
  return writer.contents();
}

/// The message of the IoError that opening these bytes gives; empty if they are accepted.
inline std::string problem_of(std::string_view bytes) {
  try {
    BundleReader::from_memory(bytes, "test.klb");
    return "";
  } catch (const IoError& error) {
    return error.what();
  }
}

/// Every kernel that can be had from these bytes is the one that it says it is.
inline void expect_no_wrong_kernel(std::string_view bytes, const std::vector<Sample>& samples) {
  try {
    const auto reader = BundleReader::from_memory(bytes, "test.klb");
    for (const Sample& sample : samples) {
      for (const BundleKernel& kernel : reader->kernels(sample.kernel.identity)) {
        if (kernel.target != sample.kernel.target) continue;
        try {
          ASSERT_EQ(reader->image(kernel), sample.image);
          ASSERT_EQ(kernel.entry, sample.kernel.entry);
          ASSERT_EQ(kernel.plan, sample.kernel.plan);
          ASSERT_EQ(kernel.shared_bytes, sample.kernel.shared_bytes);
        } catch (const IoError&) {  // damaged, and noticed
        }
      }
    }
  } catch (const IoError&) {
  }
}

}  // namespace kiln::runtime::test_support
