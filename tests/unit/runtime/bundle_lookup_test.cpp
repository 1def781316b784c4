// tests/unit/runtime/bundle_lookup_test.cpp -- kernels from bundles: order of the sources, compile modes, choice of the
// image, what a miss says, damaged bundles (case C16).
#include "runtime/bundle/bundle.h"
#include "runtime/compile_mode.h"
#include "runtime/kernel_identity.h"
#include "runtime/loaded_bundles.h"
#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

class BundleLookupTest : public CacheTest {
 protected:
  BundleLookupTest() { forget(); }
  ~BundleLookupTest() override { forget(); }
  static void forget() {
    reset_bundles();
    set_compile_mode(CompileMode::automatic);
  }

  /// A bundle whose images say what they are.
  std::string bundle_of(const std::string& name, const KernelSource& of, const std::vector<std::string>& targets) {
    BundleWriter writer;
    add(writer, of, targets);
    const std::string path = directory.path + "/" + name;
    writer.write(path);
    return path;
  }
  static void add(BundleWriter& writer, const KernelSource& of, const std::vector<std::string>& targets,
                  const char* title = "a * x + y: f32[contiguous]") {
    for (const std::string& target : targets) {
      BundleKernel kernel;
      kernel.identity = kernel_identity(of, {});
      kernel.identity_version = kernel_identity_version;
      kernel.target = target;
      kernel.kind = target.starts_with("sm_")    ? ImageKind::cubin
                    : target.starts_with("ptx_") ? ImageKind::ptx
                                                 : ImageKind::object;
      kernel.entry = of.entry;
      kernel.title = title;
      kernel.compiler = "NVRTC 13.0";
      kernel.registers = 21;
      std::string image = "bundled " + target;
      if (kernel.kind == ImageKind::ptx) image += '\0';
      writer.add(kernel, image);
    }
  }

  static std::string origin(const KernelSource& of, const std::string& arch = "sm_90") {
    return std::string(image_of(*cached_binary(of, make_options(arch))).c_str());
  }
  static std::string error_of(const KernelSource& of, const std::string& arch = "sm_90") {
    try {
      cached_binary(of, make_options(arch));
    } catch (const CompileError& error) {
      return error.what();
    }
    return "found";
  }

  test::TemporaryDirectory directory;
  const KernelSource source = make_source("a * x + y");
  const std::string compiled = expected_image(source, make_options());
};

/// A kernel that is there for some architectures only is named when a device first looks into the bundle, before a call
/// of it fails; where kernels may be compiled it is not, for nothing fails.
TEST_F(BundleLookupTest, PairsThatAreNotSupportedAreNamedBeforeTheyAreNeeded) {
  const KernelSource other = make_source("x - y"), third = make_source("x * y");
  BundleWriter writer;
  add(writer, source, {"sm_80", "sm_90"}, "everywhere");
  add(writer, other, {"sm_90"}, "x - y: f32[contiguous]");
  add(writer, third, {"x86-64-v3"}, "for CPUs");
  const std::string path = directory.path + "/app.klb";
  writer.write(path);
  test::Warnings warnings;
  load_bundle(path);
  EXPECT_EQ(origin(source, "sm_80"), "bundled sm_80");
  EXPECT_TRUE(warnings.texts().empty()) << "automatic mode compiles the other one";
  fresh_process();
  set_compile_mode(CompileMode::bundle_only);
  load_bundle(path);
  EXPECT_EQ(origin(source, "sm_90"), "bundled sm_90");
  EXPECT_TRUE(warnings.texts().empty());
  EXPECT_EQ(origin(source, "sm_86"), "bundled sm_80");
  ASSERT_EQ(warnings.texts().size(), 1u);
  const std::string text = warnings.texts()[0];
  EXPECT_NE(text.find("has 1 kernel for other devices and not for sm_86"), text.npos) << text;
  EXPECT_NE(text.find("\"x - y: f32[contiguous]\""), text.npos) << text;
  EXPECT_NE(text.find("kiln bundle ls " + path), text.npos) << text;
}

/// Bundle, disk cache, compiler; each mode takes its own alone.
TEST_F(BundleLookupTest, ModesChooseTheSource) {
  EXPECT_EQ(origin(source), compiled);
  EXPECT_EQ(compiles, 1);
  fresh_process();  // now it is on disk
  load_bundle(bundle_of("app.klb", source, {"sm_90"}));
  EXPECT_EQ(origin(source), "bundled sm_90");
  EXPECT_EQ(cache_counters().bundle_hits, 1u);
  set_compile_mode(CompileMode::bundle_only);
  EXPECT_EQ(origin(source), "bundled sm_90");
  set_compile_mode(CompileMode::cache_only);
  EXPECT_EQ(origin(source), compiled);
  EXPECT_EQ(cache_counters().disk_hits, 1u);
  EXPECT_EQ(compiles, 0);
  set_compile_mode(CompileMode::jit_only);
  EXPECT_EQ(origin(source), compiled);
  EXPECT_EQ(compiles, 1) << "neither bundle nor disk nor what the disk gave to memory";
  EXPECT_EQ(cache_counters().disk_hits, 1u);
  set_compile_mode(CompileMode::automatic);
  const KernelSource other = make_source("x - y");
  EXPECT_EQ(origin(other), expected_image(other, make_options())) << "automatic mode compiles what is in no bundle";
  EXPECT_EQ(cache_counters().bundle_misses, 1u);
}

TEST_F(BundleLookupTest, JitOnlyLeavesNoEntry) {
  set_compile_mode(CompileMode::jit_only);
  origin(source);
  EXPECT_TRUE(entries().empty());
}

TEST_F(BundleLookupTest, CacheOnlyNamesTheCache) {
  set_compile_mode(CompileMode::cache_only);
  const std::string message = error_of(source);
  EXPECT_TRUE(message.starts_with("kernel saxpy for sm_90 is not in the kernel cache (" + cache_settings().directory))
      << message;
  EXPECT_NE(message.find("compile_mode is cache_only"), std::string::npos);
  EXPECT_EQ(compiles, 0);
}

/// C16: sm_80 and sm_90 are there; 8.6 and 8.9 take the sm_80 code, 10.0 takes PTX or is refused, 7.5 is refused.
TEST_F(BundleLookupTest, MachineCodeServesLaterMinorVersionsAndPtxLaterMajorOnes) {
  set_compile_mode(CompileMode::bundle_only);
  load_bundle(bundle_of("code.klb", source, {"sm_80", "sm_90", "sm_90a"}));
  EXPECT_EQ(origin(source, "sm_80"), "bundled sm_80");
  EXPECT_EQ(origin(source, "sm_86"), "bundled sm_80");
  EXPECT_EQ(origin(source, "sm_89"), "bundled sm_80");
  EXPECT_EQ(origin(source, "sm_90"), "bundled sm_90a");
  EXPECT_TRUE(error_of(source, "sm_100").find("is in no bundle for sm_100") != std::string::npos);
  EXPECT_TRUE(error_of(source, "sm_75").find("is in no bundle for sm_75") != std::string::npos);
  load_bundle(bundle_of("ptx.klb", source, {"ptx_80"}));
  EXPECT_EQ(origin(source, "sm_100"), "bundled ptx_80");
  EXPECT_TRUE(cached_binary(source, make_options("sm_100"))->is_ptx);
  EXPECT_EQ(origin(source, "sm_90"), "bundled sm_90a") << "machine code of any bundle before PTX of the first";
  EXPECT_TRUE(error_of(source, "sm_75").find("ptx_80: ") != std::string::npos);
}

/// C16: with compilers allowed, the same misses compile.
TEST_F(BundleLookupTest, AutomaticModeCompilesForOtherGpus) {
  load_bundle(bundle_of("app.klb", source, {"sm_80"}));
  EXPECT_EQ(origin(source, "sm_100"), expected_image(source, make_options("sm_100")));
  EXPECT_EQ(origin(source, "sm_75"), expected_image(source, make_options("sm_75")));
}

/// The whole message of a miss: every bundle, every candidate, what to do.
TEST_F(BundleLookupTest, AMissListsEveryRejection) {
  set_compile_mode(CompileMode::bundle_only);
  EXPECT_EQ(
      error_of(source),
      "kernel saxpy is in no bundle for sm_90, and compile_mode is bundle_only:\n"
      "  no bundle is loaded\n"
      "Record this call (KILN_RECORD=FILE) and build the bundle again for this device, with kiln bundle build; or "
      "let kernels be compiled: kl::set_compile_mode(kl::CompileMode::automatic)");
  const std::string first = bundle_of("first.klb", source, {"sm_80", "ptx_100"});
  const std::string second = bundle_of("second.klb", make_source("x - y"), {"sm_90"});
  const std::string third = bundle_of("third.klb", make_source("x - y", "difference"), {"sm_90"});
  load_bundle(third);
  load_bundle(second);
  load_bundle(first);
  const std::string message = error_of(source);
  const auto line = [&](const std::string& text) { return message.find("\n  " + text) != std::string::npos; };
  EXPECT_TRUE(line(first + ": sm_80: machine code of compute capability 8.x does not run on 9.0")) << message;
  EXPECT_TRUE(line(first + ": ptx_100: PTX for compute capability 10.0 does not run on 9.0")) << message;
  EXPECT_TRUE(line(second + ": 1 kernel of this name for this device, with other types, layouts, options or plans, as "
                            "\"a * x + y: f32[contiguous]\""))
      << message;
  EXPECT_TRUE(line(third + ": no kernel of this name among its 1")) << message;
}

/// A bundle without the kernel itself, whose plan is another for each kind of device, that has its name for others.
TEST_F(BundleLookupTest, AMissSaysForWhichDevicesTheNameIsThere) {
  set_compile_mode(CompileMode::bundle_only);
  const KernelSource other = make_source("x - y");  // its title has the expression of `source`
  const std::string bundle = bundle_of("app.klb", other, {"x86-64-v3", "sm_80", "aarch64"});
  load_bundle(bundle);
  const std::string message = error_of(source);
  EXPECT_NE(message.find("\n  " + bundle +
                         ": 1 kernel of this name, as \"a * x + y: f32[contiguous]\", all for other devices: aarch64: "
                         "it is for CPUs; sm_80: machine code of compute capability 8.x does not run on 9.0; "
                         "x86-64-v3: it is for CPUs\n"),
            message.npos)
      << message;
  EXPECT_EQ(message.find("other types"), message.npos) << message;
}

TEST_F(BundleLookupTest, TheLastOneLoadedIsLookedIntoFirst) {
  const std::string path = bundle_of("a.klb", source, {"sm_80"});
  load_bundle(path);
  load_bundle(bundle_of("b.klb", source, {"sm_86"}));
  EXPECT_EQ(origin(source, "sm_86"), "bundled sm_86");
  EXPECT_EQ(origin(source, "sm_80"), "bundled sm_80");
  bundle_of("a.klb", source, {"sm_86", "sm_89"});  // replaced on disk: what is mapped stays
  EXPECT_EQ(origin(source, "sm_80"), "bundled sm_80");
  load_bundle(path);
  EXPECT_EQ(origin(source, "sm_80"), expected_image(source, make_options("sm_80"))) << "the new file has none";
  EXPECT_EQ(origin(source, "sm_89"), "bundled sm_89");
}

TEST_F(BundleLookupTest, TheVariableNamesSeveral) {
  const KernelSource other = make_source("x - y");
  const std::string both = bundle_of("a.klb", source, {"sm_90"}) + ":" + bundle_of("b.klb", other, {"sm_90"}) + ":";
  const test::Variable set("KILN_BUNDLE", both.c_str());
  reset_bundles();
  EXPECT_TRUE(looks_in_bundles());
  EXPECT_EQ(origin(source), "bundled sm_90");
  EXPECT_EQ(origin(other), "bundled sm_90");
  EXPECT_EQ(usable_bundle_targets("sm_90"), std::vector<std::string>{"sm_90"});
}

/// A bundle that cannot be used is warned about once and told by every miss; automatic mode goes on without it.
TEST_F(BundleLookupTest, ABrokenBundleIsOneWarning) {
  const std::string path = directory.path + "/broken.klb";
  test::write_text(path, "this is no bundle");
  const test::Variable set("KILN_BUNDLE", path.c_str());
  warnings_.clear();
  reset_bundles();
  EXPECT_EQ(origin(source), compiled);
  EXPECT_EQ(origin(make_source("x - y")), expected_image(make_source("x - y"), make_options()));
  ASSERT_EQ(warnings_.texts().size(), 1u);
  EXPECT_TRUE(warnings_.texts()[0].starts_with("a bundle of KILN_BUNDLE is not used: ")) << warnings_.texts()[0];
  EXPECT_NE(warnings_.texts()[0].find(path), std::string::npos);
  set_compile_mode(CompileMode::bundle_only);
  EXPECT_NE(error_of(make_source("x + y")).find(path), std::string::npos);
  EXPECT_THROW(load_bundle(path), IoError);
  EXPECT_THROW(load_bundle(directory.path + "/missing.klb"), IoError);
}

/// A flipped bit in one image: that image is not used, the others are, and automatic mode compiles.
TEST_F(BundleLookupTest, ADamagedImageIsPassedOver) {
  const std::string path = bundle_of("app.klb", source, {"sm_80", "sm_86"});
  std::string bytes = test::read_text(path);
  const std::size_t at = bytes.find("bundled sm_86");
  ASSERT_NE(at, bytes.npos);
  bytes[at] = 'B';
  test::write_text(path, bytes);
  warnings_.clear();
  load_bundle(path);
  EXPECT_EQ(origin(source, "sm_86"), "bundled sm_80") << "the next best one";
  EXPECT_EQ(origin(source, "sm_89"), "bundled sm_80");
  ASSERT_EQ(warnings_.texts().size(), 1u);
  EXPECT_NE(warnings_.texts()[0].find(path), std::string::npos) << warnings_.texts()[0];
  bytes[bytes.find("bundled sm_80")] = 'B';
  test::write_text(path, bytes);
  load_bundle(path);
  EXPECT_EQ(origin(source, "sm_86"), expected_image(source, make_options("sm_86")));
}

}  // namespace
}  // namespace kiln::runtime
