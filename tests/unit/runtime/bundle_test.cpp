// tests/unit/runtime/bundle_test.cpp -- what is written into a bundle is read from it; equal contents are equal bytes.
#include "runtime/bundle/bundle.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/unit/runtime/bundle_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

TEST(BundleTest, EverythingComesBack) {
  const std::vector<Sample> samples = small_samples();
  const std::string bytes = small_bundle();
  const auto reader = BundleReader::from_memory(bytes, "test.klb");
  ASSERT_EQ(reader->kernels().size(), samples.size());
  EXPECT_EQ(reader->file_bytes(), bytes.size());
  for (const Sample& sample : samples) {
    const auto found = reader->kernels(sample.kernel.identity);
    const auto kernel = std::find_if(found.begin(), found.end(),
                                     [&](const BundleKernel& k) { return k.target == sample.kernel.target; });
    ASSERT_NE(kernel, found.end());
    EXPECT_EQ(kernel->kind, sample.kernel.kind);
    EXPECT_EQ(kernel->identity_version, 3u);
    EXPECT_EQ(kernel->entry, "kiln_kernel");
    EXPECT_EQ(kernel->title, "saxpy f32[n]");
    EXPECT_EQ(kernel->options, "contract");
    EXPECT_EQ(kernel->compiler, sample.kernel.compiler);
    EXPECT_EQ(kernel->plan, "schedule flat\nitems\t4");
    EXPECT_EQ(kernel->registers, 32);
    EXPECT_EQ(kernel->spill_bytes, 0);
    EXPECT_EQ(kernel->shared_bytes, 1024);
    EXPECT_EQ(kernel->local_bytes, 0);
    EXPECT_EQ(kernel->image_bytes, sample.image.size());
    const std::string_view image = reader->image(*kernel);
    EXPECT_EQ(image, sample.image);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(image.data()) % 64, 0u);
  }
  EXPECT_EQ(reader->kernels(blake3("one")).size(), 4u);
  EXPECT_TRUE(reader->kernels(blake3("four")).empty());
  ASSERT_EQ(reader->tunings().size(), 2u);
  ASSERT_NE(reader->tuning("NVIDIA H200", 132), nullptr);
  EXPECT_EQ(reader->tuning("NVIDIA H200", 132)->record, "saxpy block 256\n");
  EXPECT_EQ(reader->tuning("NVIDIA A100", 108)->record, "");
  EXPECT_EQ(reader->tuning("NVIDIA H200", 108), nullptr);
  EXPECT_TRUE(reader->verify().empty());
}

TEST(BundleTest, OrderOfAddingChangesNoByte) {
  std::vector<Sample> samples = small_samples();
  const std::string expected = writer_of(samples).contents();
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(samples.begin(), samples.end(), random);
    ASSERT_EQ(writer_of(samples).contents(), expected);
  }
  samples.push_back(samples.front());
  EXPECT_EQ(writer_of(samples).contents(), expected) << "the same kernel twice is the kernel";
}

// A reader's contents, written again, are the same file: there is one way to write a bundle.
TEST(BundleTest, CopiesAreEqual) {
  const std::string bytes = small_bundle();
  const auto reader = BundleReader::from_memory(bytes, "test.klb");
  BundleWriter writer;
  for (const BundleKernel& kernel : reader->kernels()) writer.add(kernel, reader->image(kernel));
  for (const BundleTuning& tuning : reader->tunings()) writer.add(tuning);
  EXPECT_EQ(writer.contents(), bytes);
}

// The offsets that docs/bundles.md gives, read by hand.
TEST(BundleTest, LayoutIsTheDocumentedOne) {
  BundleWriter writer;
  const Sample sample = make_sample("one", "sm_90", ImageKind::cubin);
  writer.add(sample.kernel, sample.image);
  const std::string bytes = writer.contents();
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
    return value;
  };
  EXPECT_EQ(bytes.substr(0, 8), "\x89KLB\r\n\x1a\n");
  EXPECT_EQ(word(8), 1u) << "version";
  EXPECT_EQ(word(12), 128u) << "bytes of the header";
  EXPECT_EQ(word(16), bytes.size());
  // Six distinct texts: options, entry, compiler, title, plan, target.
  const std::string texts = "NVRTC 13.0contractkiln_kernelsaxpy f32[n]schedule flat\nitems\t4sm_90";
  const std::uint32_t manifest = 48 + 84 + 6 * 4 + static_cast<std::uint32_t>(texts.size());
  EXPECT_EQ(word(24), manifest);
  EXPECT_EQ(word(32), 1u) << "images";
  EXPECT_EQ(word(36), 1u) << "kernels";
  EXPECT_EQ(word(40), 0u) << "tunings";
  EXPECT_EQ(word(44), 6u) << "texts";
  const std::uint32_t image = (128 + manifest + 63) / 64 * 64;
  EXPECT_EQ(word(128), image) << "offset of the image";
  EXPECT_EQ(word(136), sample.image.size());
  const Digest digest = blake3(sample.image);
  EXPECT_EQ(std::memcmp(&bytes[144], digest.data(), 32), 0);
  EXPECT_EQ(std::memcmp(&bytes[176], sample.kernel.identity.data(), 32), 0);
  EXPECT_EQ(word(176 + 44), 32u) << "registers";
  EXPECT_EQ(bytes.substr(128 + manifest - texts.size(), texts.size()), texts);
  EXPECT_EQ(bytes.substr(image, sample.image.size()), sample.image);
  EXPECT_EQ(bytes.size() % 64, 0u);
  // The checksum: of the header with zeros in its place, followed by the digest of the manifest.
  std::string hashed = bytes.substr(0, 96) + std::string(32, '\0');
  const Digest inner = blake3(std::string_view(bytes).substr(128, manifest));
  hashed.append(reinterpret_cast<const char*>(inner.data()), inner.size());
  const Digest outer = blake3(hashed);
  EXPECT_EQ(std::memcmp(&bytes[96], outer.data(), 32), 0);
}

TEST(BundleTest, EqualImagesAreStoredOnce) {
  BundleWriter once, often;
  Sample sample = make_sample("one", "sm_90", ImageKind::cubin);
  sample.image.assign(1 << 20, 'x');
  once.add(sample.kernel, sample.image);
  for (int i = 0; i < 20; ++i) {
    sample.kernel.identity = blake3(std::to_string(i));
    often.add(sample.kernel, sample.image);
  }
  EXPECT_LT(often.contents().size(), once.contents().size() + 4096);
}

TEST(BundleTest, EmptyBundleIsABundle) {
  const std::string bytes = BundleWriter().contents();
  EXPECT_EQ(bytes.size(), 128u);
  EXPECT_TRUE(BundleReader::from_memory(bytes, "empty.klb")->kernels().empty());
}

TEST(BundleTest, BytesInMemoryNeedNoAlignment) {
  const std::string bytes = small_bundle();
  for (std::size_t shift = 0; shift < 65; ++shift) {
    const std::string moved = std::string(shift, 'x') + bytes;
    const auto reader = BundleReader::from_memory(std::string_view(moved).substr(shift), "test.klb");
    for (const BundleKernel& kernel : reader->kernels())
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(reader->image(kernel).data()) % 64, 0u);
  }
}

std::string problem_of_adding(const BundleKernel& kernel, std::string_view image) {
  BundleWriter writer;
  try {
    writer.add(kernel, image);
    return "";
  } catch (const IoError& error) {
    EXPECT_EQ(writer.kernel_count(), 0u);
    return error.what();
  }
}

TEST(BundleTest, WriterRefusesWhatNoReaderWouldAccept) {
  const Sample good = make_sample("one", "sm_90", ImageKind::cubin);
  struct Case {
    const char* expected;
    void (*spoil)(BundleKernel&);
  };
  const Case cases[] = {
      {"its target is empty", [](BundleKernel& k) { k.target = ""; }},
      {"\"SM 90\" is no name of a target", [](BundleKernel& k) { k.target = "SM 90"; }},
      {"its image is not of the kind that ptx_80 has", [](BundleKernel& k) { k.target = "ptx_80"; }},
      {"its entry is empty", [](BundleKernel& k) { k.entry = ""; }},
      {"its title is empty", [](BundleKernel& k) { k.title = ""; }},
      {"its title has a control character at byte 3", [](BundleKernel& k) { k.title = "abc\x1b[2J"; }},
      {"its title has a control character at byte 1", [](BundleKernel& k) { k.title = "a\nb"; }},
      {"its title has a control character at byte 0", [](BundleKernel& k) { k.title = "\u202eabc"; }},
      {"its title is not UTF-8 at byte 1", [](BundleKernel& k) { k.title = "a\xff"; }},
      {"its options is not UTF-8 at byte 0", [](BundleKernel& k) { k.options = "\xc0\x80"; }},
      {"its options is not UTF-8 at byte 0", [](BundleKernel& k) { k.options = "\xed\xa0\x80"; }},
      {"its options is not UTF-8 at byte 0", [](BundleKernel& k) { k.options = "\xf4\x90\x80\x80"; }},
      {"its compiler is not UTF-8 at byte 0", [](BundleKernel& k) { k.compiler = "\xe2\x82"; }},
      {"its plan has a control character at byte 0", [](BundleKernel& k) { k.plan = std::string_view("\0", 1); }},
      {"a count of its resources is negative", [](BundleKernel& k) { k.registers = -2; }},
  };
  for (const Case& test : cases) {
    BundleKernel kernel = good.kernel;
    test.spoil(kernel);
    EXPECT_NE(problem_of_adding(kernel, good.image).find(test.expected), std::string::npos)
        << test.expected << "\n"
        << problem_of_adding(kernel, good.image);
  }
  EXPECT_NE(problem_of_adding(good.kernel, "").find("its image is empty"), std::string::npos);
  const Sample ptx = make_sample("one", "ptx_80", ImageKind::ptx);
  EXPECT_NE(problem_of_adding(ptx.kernel, ".version 8.0").find("does not end with a NUL"), std::string::npos);
  const std::string long_title(BundleLimits::text_bytes + 1, 'x');
  BundleKernel kernel = good.kernel;
  kernel.title = long_title;
  EXPECT_NE(problem_of_adding(kernel, "image").find("its title has 65537 bytes, more than 65536"), std::string::npos);
  kernel.title = std::string_view(long_title).substr(1);
  EXPECT_EQ(problem_of_adding(kernel, "image"), "");
}

TEST(BundleTest, SameNameWithOtherContentsIsAnError) {
  BundleWriter writer = writer_of(small_samples());
  Sample other = small_samples().front();
  EXPECT_THROW(writer.add(other.kernel, other.image + "!"), IoError);
  other.kernel.registers = 33;
  EXPECT_THROW(writer.add(other.kernel, other.image), IoError);
  writer.add(BundleTuning{"NVIDIA H200", 132, "a"});
  writer.add(BundleTuning{"NVIDIA H200", 132, "a"});
  EXPECT_THROW(writer.add(BundleTuning{"NVIDIA H200", 132, "b"}), IoError);
  EXPECT_THROW(writer.add(BundleTuning{"", 132, "b"}), IoError);
  EXPECT_THROW(writer.add(BundleTuning{"NVIDIA H200", -1, "b"}), IoError);
  EXPECT_EQ(writer.contents().size(), [] {
    BundleWriter same = writer_of(small_samples());
    same.add(BundleTuning{"NVIDIA H200", 132, "a"});
    return same.contents().size();
  }()) << "what was refused left nothing behind";
}

TEST(BundleTest, TextsAreMadeAcceptable) {
  EXPECT_EQ(bundle_text("gelu f32[n,m] é ≤ 𝒙"), "gelu f32[n,m] é ≤ 𝒙");
  EXPECT_EQ(bundle_text("a\x1b[2Jb\n\xff"), "a?[2Jb??");
  EXPECT_EQ(bundle_text(std::string(1 << 20, 'x')).size(), BundleLimits::text_bytes);
  const std::string cut = bundle_text(std::string(BundleLimits::text_bytes - 1, 'x') + "é");
  EXPECT_EQ(cut.size(), BundleLimits::text_bytes - 1) << "a character is not cut in two";
}

TEST(BundleTest, ManyKernelsAndManyThreads) {
  constexpr int count = 20000;
  BundleWriter writer;
  for (int i = 0; i < count; ++i) {
    const Sample sample = make_sample(std::to_string(i), i % 2 ? "sm_80" : "sm_90", ImageKind::cubin);
    writer.add(sample.kernel, sample.image);
  }
  const std::string bytes = writer.contents();
  const auto reader = BundleReader::from_memory(bytes, "many.klb");
  ASSERT_EQ(reader->kernels().size(), static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < count; i += 3) {
        const auto found = reader->kernels(blake3(std::to_string(i)));
        const std::string expected = "image of " + std::to_string(i) + " for " + (i % 2 ? "sm_80" : "sm_90");
        wrong += found.size() != 1 || reader->image(found[0]) != expected;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kiln::runtime
