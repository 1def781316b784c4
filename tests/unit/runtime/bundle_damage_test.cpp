// tests/unit/runtime/bundle_damage_test.cpp -- no damage to a bundle, however clever, gives a wrong kernel.
#include <algorithm>
#include <cstring>
#include <random>
#include <span>

#include "runtime/bundle/format.h"
#include "tests/unit/runtime/bundle_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;
using bundle_format::Header;

/// A bundle that can be changed field by field, with a checksum that is right again: what a defective or malicious
/// writer could make.
class Forgery {
 public:
  explicit Forgery(const std::string& bytes) : bytes_(bytes.begin(), bytes.end()) {}
  template <class T>
  T get(std::size_t at) const {
    T value;
    std::memcpy(&value, &bytes_[at], sizeof value);
    return value;
  }
  template <class T>
  Forgery& put(std::size_t at, T value) {
    std::memcpy(&bytes_[at], &value, sizeof value);
    return *this;
  }
  Header header() const { return get<Header>(0); }
  std::size_t blob(std::size_t i) const { return sizeof(Header) + i * sizeof(bundle_format::Blob); }
  std::size_t kernel(std::size_t i) const { return blob(header().blobs) + i * sizeof(bundle_format::Kernel); }
  std::size_t tuning(std::size_t i) const { return kernel(header().kernels) + i * sizeof(bundle_format::Tuning); }
  std::size_t length(std::size_t i) const { return tuning(header().tunings) + i * 4; }
  std::size_t text() const { return length(header().texts); }
  std::vector<char>& bytes() { return bytes_; }
  /// The message for these bytes once the checksum fits.
  std::string problem() {
    seal();
    return problem_of({bytes_.data(), bytes_.size()});
  }
  std::string sealed() {
    seal();
    return {bytes_.begin(), bytes_.end()};
  }

 private:
  void seal() {
    Header h = header();
    const std::uint64_t manifest = std::min<std::uint64_t>(h.manifest_bytes, bytes_.size() - sizeof h);
    const Digest digest = bundle_format::manifest_digest(h, {bytes_.data() + sizeof h, manifest});
    std::memcpy(&bytes_[offsetof(Header, digest)], digest.data(), digest.size());
  }
  std::vector<char> bytes_;
};

TEST(BundleDamageTest, NoPrefixIsAccepted) {
  const std::string good = small_bundle();
  for (std::size_t length = 0; length < good.size(); ++length)
    ASSERT_NE(problem_of(std::string_view(good).substr(0, length)), "") << length << " bytes";
  ASSERT_EQ(problem_of(good), "");
  ASSERT_NE(problem_of(good + '\0'), "");
  ASSERT_NE(problem_of(good + std::string(64, '\0')), "");
}

TEST(BundleDamageTest, NoFlippedBitGivesAWrongKernel) {
  const std::vector<Sample> samples = small_samples();
  const std::string good = small_bundle();
  const std::size_t manifest_end = sizeof(Header) + Forgery(good).header().manifest_bytes;
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    const std::string problem = problem_of(bad);
    ASSERT_TRUE(bit / 8 >= manifest_end || !problem.empty()) << "bit " << bit << " of the manifest";
    const bool is_noticed = !problem.empty() || !BundleReader::from_memory(bad, "bad.klb")->verify().empty();
    ASSERT_TRUE(is_noticed) << "bit " << bit;
    expect_no_wrong_kernel(bad, samples);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "bit " << bit;
  }
}

// Checksums that fit do not help: every field is checked by itself.
struct Forged {
  const char* expected;
  void (*forge)(Forgery&);
};
constexpr std::uint64_t huge = ~std::uint64_t{0};

void expect_problems(std::span<const Forged> cases) {
  const std::string good = small_bundle();
  ASSERT_EQ(Forgery(good).problem(), "");
  int number = 0;
  for (const Forged& test : cases) {
    Forgery forgery(good);
    test.forge(forgery);
    const std::string problem = forgery.problem();
    EXPECT_NE(problem.find(test.expected), std::string::npos) << "case " << number << ": " << problem;
    EXPECT_NE(problem.find("test.klb"), std::string::npos) << "the message names the file";
    ++number;
  }
}

TEST(BundleDamageTest, ForgedHeadersAndImagesAreNoticed) {
  const Forged cases[] = {
      {"the length of its header is wrong", [](Forgery& f) { f.put<std::uint32_t>(12, 64); }},
      {"and says", [](Forgery& f) { f.put<std::uint64_t>(16, huge); }},
      {"its manifest is longer than the file", [](Forgery& f) { f.put<std::uint64_t>(24, huge - 127); }},
      {"shorter than its counts", [](Forgery& f) { f.put<std::uint32_t>(32, ~0u); }},
      {"more than a bundle may", [](Forgery& f) { f.put<std::uint32_t>(36, ~0u); }},
      {"shorter than its counts", [](Forgery& f) { f.put<std::uint32_t>(36, 1u << 20); }},
      {"more than a bundle may", [](Forgery& f) { f.put<std::uint32_t>(40, ~0u); }},
      {"shorter than its counts", [](Forgery& f) { f.put<std::uint32_t>(44, ~0u); }},
      {"reserved bytes", [](Forgery& f) { f.put<char>(48, 1); }},
      {"reserved bytes", [](Forgery& f) { f.put<char>(95, 1); }},
      {"image 0 is not where it belongs", [](Forgery& f) { f.put<std::uint64_t>(f.blob(0), huge); }},
      {"image 0 is not where it belongs", [](Forgery& f) { f.put(f.blob(0), f.get<std::uint64_t>(f.blob(0)) + 1); }},
      {"image 1 is not where it belongs", [](Forgery& f) { f.put(f.blob(1), f.get<std::uint64_t>(f.blob(0))); }},
      {"the length of image 0 is wrong", [](Forgery& f) { f.put<std::uint64_t>(f.blob(0) + 8, huge); }},
      {"the length of image 0 is wrong", [](Forgery& f) { f.put<std::uint64_t>(f.blob(0) + 8, 0); }},
      {"the length of image 0 is wrong", [](Forgery& f) { f.put<std::uint64_t>(f.blob(0) + 8, 1ull << 40); }},
      {"is not where it belongs", [](Forgery& f) { f.put(f.blob(0) + 8, f.get<std::uint64_t>(f.blob(0) + 8) + 64); }},
      {"it ends too late",
       [](Forgery& f) {
         f.bytes().resize(f.bytes().size() + 64);
         f.put(16, f.bytes().size());
       }},
      {"images are out of order", [](Forgery& f) { f.put<unsigned char>(f.blob(0) + 16, 0xff); }},
      {"images are out of order",
       [](Forgery& f) { std::memcpy(&f.bytes()[f.blob(1) + 16], &f.bytes()[f.blob(0) + 16], 32); }},
  };
  expect_problems(cases);
}

TEST(BundleDamageTest, ForgedKernelsTuningsAndTextsAreNoticed) {
  const Forged cases[] = {
      {"kernel 0: its image is not there", [](Forgery& f) { f.put<std::uint32_t>(f.kernel(0) + 32, ~0u); }},
      {"an image belongs to no kernel",
       [](Forgery& f) {
         for (int i = 0; i < 6; ++i) f.put<std::uint32_t>(f.kernel(i) + 32, 0);
       }},
      {"kernel 1: its image is of an unknown kind", [](Forgery& f) { f.put<std::uint32_t>(f.kernel(1) + 36, 3); }},
      {"is not of the kind",
       [](Forgery& f) { f.put(f.kernel(1) + 36, (f.get<std::uint32_t>(f.kernel(1) + 36) + 1) % 3); }},
      {"kernel 2: a count of its resources", [](Forgery& f) { f.put<std::int32_t>(f.kernel(2) + 44, -2); }},
      {"kernel 2: its target is not there", [](Forgery& f) { f.put<std::uint32_t>(f.kernel(2) + 60, 1000); }},
      {"kernel 2: its plan is not there", [](Forgery& f) { f.put<std::uint32_t>(f.kernel(2) + 80, ~0u); }},
      {"twice or out of order", [](Forgery& f) { f.put<unsigned char>(f.kernel(0), 0xff); }},
      {"twice or out of order",
       [](Forgery& f) {
         std::memcpy(&f.bytes()[f.kernel(1)], &f.bytes()[f.kernel(0)], sizeof(bundle_format::Kernel));
       }},
      {"tuning 0: its number of multiprocessors", [](Forgery& f) { f.put<std::int32_t>(f.tuning(0) + 4, -1); }},
      {"a text of tuning 1 is not there", [](Forgery& f) { f.put<std::uint32_t>(f.tuning(1), 1000); }},
      {"tuning 1 is there twice",
       [](Forgery& f) { std::memcpy(&f.bytes()[f.tuning(1)], &f.bytes()[f.tuning(0)], 12); }},
      {"texts are longer", [](Forgery& f) { f.put<std::uint32_t>(f.length(1), ~0u); }},
      {"longer than its texts",  // "x86-64-v3" loses its end
       [](Forgery& f) { f.put<std::uint32_t>(f.length(f.header().texts - 1), 8); }},
      {"texts are out of order", [](Forgery& f) { f.bytes()[f.text()] = 'z'; }},
      {"a text belongs to nothing",
       [](Forgery& f) {
         f.put(f.kernel(0) + 72, f.get<std::uint32_t>(f.kernel(0) + 68));  // options become the title
         for (int i = 1; i < 6; ++i) f.put(f.kernel(i) + 72, f.get<std::uint32_t>(f.kernel(0) + 68));
       }},
      {"no zeros behind its manifest", [](Forgery& f) { f.bytes()[sizeof(Header) + f.header().manifest_bytes] = 1; }},
  };
  expect_problems(cases);
}

// Whatever is accepted with a fitting checksum is what the writer writes, byte for byte.
TEST(BundleDamageTest, ForgedBytesAreRefusedOrCanonical) {
  const std::string good = small_bundle();
  const std::size_t end = sizeof(Header) + Forgery(good).header().manifest_bytes;
  int accepted = 0;
  for (std::size_t at = 0; at < end; ++at) {
    for (const int change : {1, 2, 128, 255}) {
      Forgery forgery(good);
      forgery.put(at, static_cast<char>(forgery.get<char>(at) + change));
      const std::string bytes = forgery.sealed();
      if (!problem_of(bytes).empty()) continue;
      ++accepted;
      const auto reader = BundleReader::from_memory(bytes, "forged.klb");
      if (!reader->verify().empty()) continue;
      BundleWriter writer;
      for (const BundleKernel& kernel : reader->kernels()) writer.add(kernel, reader->image(kernel));
      for (const BundleTuning& tuning : reader->tunings()) writer.add(tuning);
      ASSERT_EQ(writer.contents(), bytes) << "byte " << at;
    }
  }
  EXPECT_GT(accepted, 100) << "identities, counts of resources and texts may be anything";
}

TEST(BundleDamageTest, OtherFilesAreNamed) {
  struct Foreign {
    std::string bytes;
    const char* expected;
  };
  const std::string good = small_bundle();
  std::string future = good, past = good;
  future[8] = 2;
  past[8] = 0;
  const Foreign cases[] = {
      {"", "it is empty"},
      {good.substr(0, 5), "it ends after a few bytes"},
      {"\x7f"
       "ELF\x02\x01\x01",
       "it is an ELF file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:12\n", "run `git lfs pull`"},
      {"KILNBIN\n....", "it is an entry of kiln's cache"},
      {"\x89KLB\n\x1a\n" + good.substr(8), "its line ends or high bits were changed"},
      {"\x09" + good.substr(1), "its line ends or high bits were changed"},
      {"#!/bin/sh\n", "begins with the bytes 23 21 2f 62 69 6e 2f 73: build one with `kiln bundle build`"},
      {future, "its format is version 2, this kiln reads version 1: install the kiln that made it, or build it again"},
      {past, "its format is version 0, this kiln reads version 1: build it again"},
  };
  for (const Foreign& test : cases) {
    const std::string problem = problem_of(test.bytes);
    EXPECT_NE(problem.find(test.expected), std::string::npos) << problem;
    EXPECT_TRUE(problem.starts_with("cannot use the bundle test.klb: ")) << problem;
  }
}

TEST(BundleDamageTest, DamagedImageIsNamedAndTheOthersServe) {
  const std::vector<Sample> samples = small_samples();
  std::string bytes = small_bundle();
  bytes[bytes.find(samples[1].image)] ^= 1;
  const auto reader = BundleReader::from_memory(bytes, "test.klb");
  const auto found = reader->kernels(samples[1].kernel.identity);
  int damaged = 0;
  for (const BundleKernel& kernel : found) {
    if (kernel.target != "sm_90a") {
      EXPECT_NO_THROW(reader->image(kernel));
      continue;
    }
    for (int i = 0; i < 2; ++i) {
      try {
        reader->image(kernel);
      } catch (const IoError& error) {
        ++damaged;
        EXPECT_STREQ(error.what(),
                     "bundle test.klb: the image of kernel saxpy f32[n] for sm_90a is damaged (its checksum is wrong): "
                     "copy the file again, or build it again with `kiln bundle build`");
      }
    }
  }
  EXPECT_EQ(damaged, 2) << "the second look is no better";
  EXPECT_EQ(reader->verify(), std::vector<std::string>{"saxpy f32[n] for sm_90a: its checksum is wrong"});
}

// The driver reads PTX up to its NUL.
TEST(BundleDamageTest, PtxWithoutItsEndIsRefused) {
  BundleWriter writer;
  const Sample sample = make_sample("one", "ptx_80", ImageKind::ptx);
  writer.add(sample.kernel, sample.image);
  Forgery forgery(writer.contents());
  const std::size_t image = forgery.get<std::uint64_t>(forgery.blob(0));
  forgery.bytes()[image + sample.image.size() - 1] = '!';
  const Digest digest = blake3({forgery.bytes().data() + image, sample.image.size()});
  std::memcpy(&forgery.bytes()[forgery.blob(0) + 16], digest.data(), digest.size());
  const std::string bytes = forgery.sealed();
  const auto reader = BundleReader::from_memory(bytes, "test.klb");
  EXPECT_THROW(reader->image(reader->kernels()[0]), IoError);
}

TEST(BundleDamageTest, RandomBytesAreRefused) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(random() % 600, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (bytes.size() >= 12 && i % 2) std::memcpy(bytes.data(), small_bundle().data(), 12);
    ASSERT_NE(problem_of(bytes), "");
  }
}

}  // namespace
}  // namespace kiln::runtime
