// tests/unit/runtime/bundle_build_test.cpp -- records to bundles: which kernels for which targets, equal bytes, errors
// (case C16).
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/choose.h"
#include "runtime/cpu/cpu.h"
#include "runtime/cuda_interface.h"
#include "runtime/kernel_identity.h"
#include "runtime/record_file.h"
#include "runtime/tool_bundle_build.h"
#include "tests/support/cpu_compiler.h"
#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

RecordedKernel cuda_record(const std::string& entry, const std::string& body, std::vector<std::string> targets) {
  RecordedKernel record;
  record.source = make_source("extern \"C\" __global__ void " + entry + "(float* x) {\n" + body + "\n}\n", entry);
  record.source.argument_bytes = 8;
  record.targets = std::move(targets);
  record.title = entry + " of x";
  record.place = "update (model.cpp:12)";
  record.identity = kernel_identity(record.source, record.options);
  return record;
}

RecordedKernel cpu_record(std::vector<std::string> targets) {
  RecordedKernel record;
  record.source.language = Language::llvm_ir;
  record.source.entry = "nothing";
  record.source.text = "define void @nothing(ptr %arguments, i64 %begin, i64 %end, ptr %libm) {\n  ret void\n}\n";
  record.targets = std::move(targets);
  record.title = "nothing";
  record.place = "expression (model.cpp:14)";
  record.identity = kernel_identity(record.source, record.options);
  return record;
}

class BundleBuildTest : public ::testing::Test {
 protected:
  std::string file_of(const std::string& name, const std::vector<RecordedKernel>& records) {
    std::string text(record_header());
    for (const RecordedKernel& record : records) text += to_text(record);
    const std::string path = directory.path + "/" + name;
    test::write_text(path, text);
    return path;
  }
  tool::BundleRequest request(const std::string& records) {
    tool::BundleRequest made;
    made.records = {records};
    made.output = directory.path + "/app.klb";
    return made;
  }
  template <class E>
  static std::string error_of(const tool::BundleRequest& request) {
    try {
      tool::build_bundle(request);
    } catch (const E& error) {
      return error.what();
    }
    return "built";
  }
  static std::vector<std::string> targets_of(const BundleReader& bundle, const RecordedKernel& record) {
    std::vector<std::string> names;
    for (const BundleKernel& kernel : bundle.kernels(record.identity)) names.emplace_back(kernel.target);
    return names;
  }
  static bool has_nvrtc() { return cuda::report_compiler().version > 0; }

  test::TemporaryDirectory directory;
};

/// The same records in another order and file, and other numbers of threads: the same bytes.
TEST_F(BundleBuildTest, BuildsTheSameBytesAgain) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  const std::vector<std::string> all = {"sm_80", "sm_90"};
  const RecordedKernel a = cuda_record("first", "x[threadIdx.x] += 1;", all),
                       b = cuda_record("second", "x[0] = 2;", all);
  tool::BundleRequest one = request(file_of("a.kiln", {a, b}));
  one.archs = {"sm_80", "sm_90"};
  one.ptx = {"sm_80"};
  one.jobs = 1;
  const tool::BundleBuilt built = tool::build_bundle(one);
  EXPECT_EQ(built.records, 2u);
  EXPECT_EQ(built.kernels, 2u);
  EXPECT_EQ(built.images, 6u);
  const std::string first = test::read_text(one.output);
  tool::BundleRequest other = request(file_of("b.kiln", {b}));
  other.records.push_back(file_of("c.kiln", {a, b}));
  other.archs = {"sm_90", "sm_80", "sm_90"};
  other.ptx = {"compute_80", "ptx_80"};
  other.jobs = 4;
  other.output = directory.path + "/other.klb";
  tool::build_bundle(other);
  EXPECT_EQ(first, test::read_text(other.output));
  const auto bundle = BundleReader::open(one.output);
  EXPECT_TRUE(bundle->verify().empty());
  EXPECT_EQ(targets_of(*bundle, a), (std::vector<std::string>{"ptx_80", "sm_80", "sm_90"}));
  const BundleKernel& ptx = bundle->kernels(a.identity)[0];
  EXPECT_NE(bundle->image(ptx).find(".target sm_80"), std::string_view::npos);
  EXPECT_EQ(bundle->image(ptx).back(), '\0');
  EXPECT_EQ(ptx.title, "first of x");
}

/// A target takes the plans of the latest recorded GPU that is not beyond it; "a" and PTX those of their number.
TEST_F(BundleBuildTest, TargetsTakeThePlansOfTheirKind) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  const RecordedKernel early = cuda_record("early", "x[0] = 1;", {"sm_80", "sm_86"});
  const RecordedKernel late = cuda_record("late", "x[0] = 2;", {"sm_90", "sm_100"});
  tool::BundleRequest build = request(file_of("a.kiln", {early, late}));
  build.archs = {"sm_89", "sm_90a", "sm_103"};
  build.ptx = {"sm_80", "sm_90"};
  tool::build_bundle(build);
  const auto bundle = BundleReader::open(build.output);
  EXPECT_EQ(targets_of(*bundle, early), (std::vector<std::string>{"ptx_80", "sm_89"}));
  EXPECT_EQ(targets_of(*bundle, late), (std::vector<std::string>{"ptx_90", "sm_103", "sm_90a"}));
}

TEST_F(BundleBuildTest, MakesObjectsForOtherCpus) {
  KILN_NEEDS_CPU_COMPILER();
  const RecordedKernel record = cpu_record({"aarch64", "x86-64-v2", "x86-64-v3"});
  tool::BundleRequest build = request(file_of("a.kiln", {record}));
  build.cpus = {"x86-64-v3", "aarch64"};
  const tool::BundleBuilt built = tool::build_bundle(build);
  EXPECT_TRUE(built.notes.empty());
  const auto bundle = BundleReader::open(build.output);
  ASSERT_EQ(targets_of(*bundle, record), (std::vector<std::string>{"aarch64", "x86-64-v3"}));
  // One instruction: ret.
  EXPECT_NE(bundle->image(bundle->kernels(record.identity)[0]).find(std::string_view("\xc0\x03\x5f\xd6", 4)),
            std::string_view::npos);
  EXPECT_NE(bundle->image(bundle->kernels(record.identity)[1]).find('\xc3'), std::string_view::npos);
}

/// A program that is deployed with such a bundle would fail on the machines that were asked for.
TEST_F(BundleBuildTest, ATargetWithoutRecordsIsAnErrorAndLeavesNoFile) {
  KILN_NEEDS_CPU_COMPILER();
  tool::BundleRequest build = request(file_of("a.kiln", {cpu_record({"x86-64-v3"})}));
  build.cpus = {"x86-64-v3"};
  build.archs = {"sm_80"};
  EXPECT_EQ(tool::problem_of(build), "");
  const std::string message = error_of<IoError>(build);
  EXPECT_NE(message.find("nothing is recorded for sm_80; leave it out"), message.npos) << message;
  EXPECT_FALSE(std::filesystem::exists(build.output));
}

/// Kernels count those of the bundle, records those that were read: some are for other targets.
TEST_F(BundleBuildTest, CountsRecordsKernelsAndImagesApart) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  const RecordedKernel early = cuda_record("early", "x[0] = 1;", {"sm_80"});
  const RecordedKernel late = cuda_record("late", "x[0] = 2;", {"sm_90"});
  tool::BundleRequest build = request(file_of("a.kiln", {early, late}));
  build.archs = {"sm_80", "sm_86"};
  const tool::BundleBuilt built = tool::build_bundle(build);
  EXPECT_EQ(built.records, 2u);
  EXPECT_EQ(built.kernels, 1u);
  EXPECT_EQ(built.images, 2u);
}

/// An output that is an input, by whatever name, is refused; the input stays.
TEST_F(BundleBuildTest, TheOutputIsNoInput) {
  const std::string record = file_of("a.kiln", {cuda_record("early", "x[0] = 1;", {"sm_80"})});
  const std::string tuned = directory.path + "/tuned.txt", text = test::read_text(record);
  test::write_text(tuned, "");
  tool::BundleRequest build = request(record);
  build.archs = {"sm_80"};
  build.tunings = {tuned};
  std::filesystem::create_symlink(record, directory.path + "/soft");
  std::filesystem::create_hard_link(record, directory.path + "/hard");
  for (const std::string& output :
       {record, directory.path + "/soft", directory.path + "/hard", directory.path + "/./a.kiln", tuned}) {
    build.output = output;
    EXPECT_NE(tool::problem_of(build).find("would overwrite"), std::string::npos) << output;
    EXPECT_NE(error_of<IoError>(build).find("would overwrite"), std::string::npos) << output;
    EXPECT_EQ(test::read_text(record), text) << output;
  }
  build.output = directory.path + "/app.klb";
  EXPECT_EQ(tool::problem_of(build), "");
}

/// An error names the kernel, the user's line and the compiler's words, and leaves no file.
TEST_F(BundleBuildTest, ACompileErrorNamesTheUsersLine) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  tool::BundleRequest build = request(
      file_of("a.kiln", {cuda_record("good", "x[0] = 1;", {"sm_90"}), cuda_record("bad", "x[0] = y;", {"sm_90"})}));
  build.archs = {"sm_90"};
  const std::string message = error_of<CompileError>(build);
  EXPECT_TRUE(message.starts_with("bad, used by update (model.cpp:12), cannot be built for sm_90:\n")) << message;
  EXPECT_NE(message.find("\"y\" is undefined"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(build.output));
}

/// C10: an architecture later than the compiler is an error, not an image of another one under its name.
TEST_F(BundleBuildTest, ArchitecturesBeyondTheCompilerAreRefused) {
  if (!has_nvrtc()) GTEST_SKIP() << "no NVRTC here";
  const std::string records = file_of("a.kiln", {cuda_record("kernel", "x[0] = 1;", {"sm_90"})});
  tool::BundleRequest code = request(records), ptx = request(records);
  code.archs = {"sm_199"};
  ptx.ptx = {"sm_199"};
  for (const tool::BundleRequest& build : {code, ptx}) {
    const std::string message = error_of<CompileError>(build);
    EXPECT_NE(message.find("does not know this architecture"), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(build.output));
  }
}

TEST_F(BundleBuildTest, MistakesAreNamed) {
  const std::string records = file_of("a.kiln", {cuda_record("kernel", "x[0] = 1;", {"sm_90"})});
  tool::BundleRequest none = request(records);
  EXPECT_EQ(error_of<DeviceError>(none),
            "nothing to build a bundle for; write --arch sm_80,sm_90, --ptx sm_80 or --cpu x86-64-v3");
  tool::BundleRequest arch = request(records);
  arch.archs = {"hopper"};
  EXPECT_EQ(error_of<DeviceError>(arch),
            "'hopper' is no GPU architecture to make machine code for; write --arch sm_90 or --arch sm_90a");
  tool::BundleRequest cpu = request(records);
  cpu.cpus = {"pentium"};
  EXPECT_EQ(error_of<DeviceError>(cpu),
            "'pentium' is no CPU to make code for; write --cpu x86-64-v2, x86-64-v3, x86-64-v4 or aarch64");
  tool::BundleRequest old = request(records);
  old.archs = {"sm_80"};
  EXPECT_EQ(error_of<IoError>(old),
            records + ": nothing is recorded for sm_80; leave it out, or record a run whose kernels it can have");
  tool::BundleRequest missing = request(directory.path + "/missing.kiln");
  missing.archs = {"sm_90"};
  EXPECT_EQ(error_of<IoError>(missing),
            directory.path + "/missing.kiln cannot be read: No such file or directory. KILN_RECORD=" + directory.path +
                "/missing.kiln ./app writes it");
}

}  // namespace
}  // namespace kiln::runtime
