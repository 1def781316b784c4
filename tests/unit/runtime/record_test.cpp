// tests/unit/runtime/record_test.cpp -- KILN_RECORD: the file survives round trips, merging, races, kills and full
// disks.
#include <barrier>
#include <thread>

#include "runtime/kernel_identity.h"
#include "runtime/recorder.h"
#include "tests/unit/runtime/cache_children.h"

namespace kiln::runtime {
namespace {

using namespace test_support;

RecordedKernel make_record(const std::string& text, std::vector<std::string> targets = {"sm_80", "sm_90"}) {
  RecordedKernel record;
  record.source = make_source(text);
  record.targets = std::move(targets);
  record.title = "a * x + y: f32[contiguous]";
  record.place = "saxpy (model.cpp:12)";
  record.identity = kernel_identity(record.source, record.options);
  return record;
}

std::string file_of(const std::vector<RecordedKernel>& records) {
  std::string text(record_header());
  for (const RecordedKernel& record : records) text += to_text(record);
  return text;
}

std::vector<RecordedKernel> parsed(const std::string& text) {
  RecordSet set;
  set.add_text(text, "trace.kiln");
  return set.kernels();
}

std::string refusal(const std::string& text) {
  try {
    parsed(text);
  } catch (const IoError& error) {
    return error.what();
  }
  return "accepted";
}

/// Whatever text a kernel, a header or a name has comes back bit by bit: the identity is computed again from it.
TEST(RecordFile, RoundTripKeepsEveryByte) {
  for (const std::string& text :
       {std::string("one line"), std::string("two\nlines\n"), std::string("\n\nkernel x\nend y\n| z\n"),
        std::string("tab\t, \r\n, \\n and \\, NUL \0 and \xff", 24), std::string()}) {
    RecordedKernel record = make_record(text);
    record.source.language = Language::cuda;
    record.source.expression = "scale<float,\n 4>";
    record.source.headers = {{"a.h", text}, {"b\\n.h", "int b;"}};
    record.options.extra = {"-DNAME=a b", "-I\\path\nline", ""};
    record.options.contract = false;
    record.options.lineinfo = true;
    record.title = "title with \n and \\";
    record.identity = kernel_identity(record.source, record.options);
    const auto read = parsed(file_of({record}));
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].source.text, text);
    EXPECT_EQ(read[0].source.headers, record.source.headers);
    EXPECT_EQ(read[0].source.expression, record.source.expression);
    EXPECT_EQ(read[0].options, record.options);
    EXPECT_EQ(read[0].source.argument_bytes, 24u);
    EXPECT_EQ(read[0].source.max_threads, 256);
    EXPECT_EQ(read[0].title, record.title);
    EXPECT_EQ(read[0].place, record.place);
    EXPECT_EQ(read[0].targets, record.targets);
    EXPECT_EQ(read[0].identity, record.identity);
  }
}

/// C07: what makes another kernel makes another identity; the architecture does not.
TEST(RecordFile, IdentityCoversAllButTheArchitecture) {
  const KernelSource source = make_source("a");
  const CompileOptions options = make_options("sm_80");
  const Digest identity = kernel_identity(source, options);
  EXPECT_EQ(identity, kernel_identity(source, make_options("sm_90")));
  const auto differs = [&](auto change) {
    KernelSource other = source;
    CompileOptions changed = options;
    change(other, changed);
    return kernel_identity(other, changed) != identity;
  };
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.text += ' '; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.entry = "other"; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.expression = "t<int>"; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.headers = {{"a.h", ""}}; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.language = Language::llvm_ir; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.argument_bytes = 32; }));
  EXPECT_TRUE(differs([](KernelSource& s, CompileOptions&) { s.max_threads = 128; }));
  EXPECT_TRUE(differs([](KernelSource&, CompileOptions& o) { o.contract = false; }));
  EXPECT_TRUE(differs([](KernelSource&, CompileOptions& o) { o.fast_math = true; }));
  EXPECT_TRUE(differs([](KernelSource&, CompileOptions& o) { o.lineinfo = true; }));
  EXPECT_TRUE(differs([](KernelSource&, CompileOptions& o) { o.extra = {"-DA"}; }));
  CompileOptions one = options, other = options;
  one.extra = {"-DA", "-DB"};
  other.extra = {"-DB", "-DA"};
  EXPECT_NE(kernel_identity(source, one), kernel_identity(source, other));
}

/// Files joined by cat, in any order, give the same kernels; targets of the same kernel are joined.
TEST(RecordFile, MergesInAnyOrder) {
  const std::string first = file_of({make_record("a", {"sm_90"}), make_record("b")});
  const std::string second = file_of({make_record("a", {"sm_80", "sm_90"}), make_record("c"), make_record("b")});
  const auto one = parsed(first + second), other = parsed(second + first);
  ASSERT_EQ(one.size(), 3u);
  ASSERT_EQ(other.size(), 3u);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(to_text(one[i]), to_text(other[i]));
  for (const RecordedKernel& kernel : one)
    EXPECT_EQ(kernel.targets, (std::vector<std::string>{"sm_80", "sm_90"})) << kernel.source.text;
}

/// A record cut off at any byte costs that record alone, whether something follows it or not.
TEST(RecordFile, UnfinishedRecordsAreSkipped) {
  const test::Warnings silent;
  const std::string whole = file_of({make_record("first\n")}), last = to_text(make_record("int x;\nint y;"));
  for (std::size_t cut = 1; cut + 1 < last.size(); ++cut) {
    RecordSet set;
    set.add_text(whole + last.substr(0, cut), "trace.kiln");
    ASSERT_EQ(set.kernels().size(), 1u) << last.substr(0, cut);
    EXPECT_EQ(set.kernels()[0].source.text, "first\n");
    RecordSet followed;
    followed.add_text(whole + last.substr(0, cut) + "\n" + to_text(make_record("third")), "trace.kiln");
    ASSERT_EQ(followed.kernels().size(), 2u) << last.substr(0, cut);
    EXPECT_EQ(followed.unfinished(), 1u) << last.substr(0, cut);
  }
}

/// As a kiln wrote it that did not separate: what follows a cut record in its last line is found.
TEST(RecordFile, ARecordJoinedToAnUnfinishedOneIsRead) {
  const test::Warnings silent;
  const std::string whole = file_of({make_record("first\n")}), last = to_text(make_record("int x;\nint y;"));
  const RecordedKernel third = make_record("third");
  for (std::size_t cut = 1; cut + 1 < last.size(); ++cut) {
    const std::string text = whole + last.substr(0, cut) + to_text(third);
    RecordSet set;
    set.add_text(text, "trace.kiln");
    ASSERT_EQ(set.kernels().size(), 2u) << last.substr(0, cut);
    EXPECT_TRUE(set.kernels()[0].identity == third.identity || set.kernels()[1].identity == third.identity);
    EXPECT_EQ(set.unfinished(), 1u) << last.substr(0, cut);
    std::string names;
    for_each_record_name(text, [&](std::string_view identity, std::string_view) { names += identity; });
    EXPECT_NE(names.find(to_hex(third.identity)), names.npos) << last.substr(0, cut);
    EXPECT_EQ(names.find(to_hex(make_record("int x;\nint y;").identity)), names.npos) << last.substr(0, cut);
  }
}

/// One warning per file says what was lost, and how to get it.
TEST(RecordFile, UnfinishedRecordsAreNamedInOneWarning) {
  test::Warnings warnings;
  const std::string last = to_text(make_record("int x;\nint y;"));
  RecordSet set;
  set.add_text(file_of({make_record("a")}) + last.substr(0, last.size() / 2) + "\n" + to_text(make_record("b")) +
                   last.substr(0, 30),
               "trace.kiln");
  EXPECT_EQ(set.kernels().size(), 2u);
  ASSERT_EQ(warnings.texts().size(), 1u);
  const std::string text = warnings.texts()[0];
  EXPECT_NE(text.find("trace.kiln: 2 records were never finished"), text.npos) << text;
  EXPECT_NE(text.find("line 14, a * x + y: f32[contiguous], saxpy (model.cpp:12)"), text.npos) << text;
  EXPECT_NE(text.find("KILN_RECORD=trace.kiln"), text.npos) << text;
}

/// A run that was killed while it wrote, and run again: the kernel is there, so there is nothing to warn of.
TEST(RecordFile, NothingIsLostThatWasRecordedAgain) {
  const std::string whole = file_of({make_record("first\n")}), last = to_text(make_record("int x;\nint y;"));
  const std::size_t named = std::string("kernel ").size() + 2 * sizeof(Digest);
  for (std::size_t cut = named; cut + 1 < last.size(); cut += 7) {
    test::Warnings warnings;
    RecordSet set;
    set.add_text(whole + last.substr(0, cut) + "\n" + last, "trace.kiln");
    ASSERT_EQ(set.kernels().size(), 2u);
    EXPECT_EQ(set.unfinished(), 0u) << last.substr(0, cut);
    EXPECT_TRUE(warnings.texts().empty()) << warnings.texts()[0];
  }
}

/// An editor on Windows turned every line end, or some: the message says so.
TEST(RecordFile, CrLfIsNamed) {
  const std::string text = file_of({make_record("first\nsecond\n")});
  const auto with_crlf = [&](std::size_t from) {
    std::string changed;
    for (std::size_t i = 0; i < text.size(); ++i)
      changed += text[i] == '\n' && i >= from ? "\r\n" : std::string(1, text[i]);
    return changed;
  };
  for (const std::size_t from : {std::size_t{0}, std::size_t{20}, text.find("source")}) {
    const std::string message = refusal(with_crlf(from));
    EXPECT_TRUE(message.starts_with("trace.kiln:")) << message;
    EXPECT_NE(message.find("CR LF"), message.npos) << message;
    EXPECT_NE(message.find("sed -i 's/\\r$//' trace.kiln"), message.npos) << message;
  }
}

/// What was changed by hand, or by a disk, is refused with its line; so are other versions and other files.
TEST(RecordFile, DamageIsRefusedWithItsLine) {
  const std::string text = file_of({make_record("first\nsecond\n"), make_record("third\n")});
  for (const char* const changed : {"second", "model.cpp:12", "sm_80", "24", "contract"}) {
    std::string damaged = text;
    const std::size_t at = damaged.find(changed);
    ++damaged[at + 1];
    const std::string message = refusal(damaged);
    EXPECT_TRUE(message.starts_with("trace.kiln:")) << changed << ": " << message;
  }
  const std::string changed = refusal([&] {
    std::string damaged = text;
    damaged.replace(damaged.find("second"), 6, "SECOND");
    return damaged;
  }());
  EXPECT_EQ(changed,
            "trace.kiln:14: the record that begins at line 2 does not match its checksum. Remove the file and record "
            "again: KILN_RECORD=trace.kiln ./app");
  EXPECT_EQ(refusal("kiln record 2\n"),
            "trace.kiln:1: \"kiln record 2\" is of another version of kiln, which reads \"kiln record 1\". Remove the "
            "file and record again: KILN_RECORD=trace.kiln ./app");
  EXPECT_EQ(refusal("hello\n"), "trace.kiln is no record of kernels: it does not begin with \"kiln record\"");
  EXPECT_EQ(refusal(""), "trace.kiln is empty: no kernel was recorded in it");
  std::string newer = text;
  newer.insert(newer.find("threads"), "graph 12\n");
  EXPECT_TRUE(refusal(newer).find("this line is none that a record of this version has") != std::string::npos);
}

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() { reset_recorder(); }
  ~RecorderTest() override { reset_recorder(); }
  std::vector<RecordedKernel> recorded() { return parsed(test::read_text(path)); }

  test::TemporaryDirectory directory;
  std::string path = directory.path + "/trace.kiln";
};

TEST_F(RecorderTest, NothingIsRecordedWithoutTheVariable) {
  const test::Variable unset("KILN_RECORD", nullptr);
  EXPECT_FALSE(is_recording_kernels());
  record_kernel(make_record("a"));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path));
}

/// Each kernel once, also when a later process appends to the same file.
TEST_F(RecorderTest, EachKernelStandsInTheFileOnce) {
  const test::Variable set("KILN_RECORD", path.c_str());
  for (int process = 0; process < 3; ++process) {
    reset_recorder();
    for (int i = 0; i < 4; ++i) record_kernel(make_record("kernel " + std::to_string(i % 2)));
  }
  EXPECT_EQ(recorded().size(), 2u);
  const std::string text = test::read_text(path);
  std::size_t count = 0;
  for_each_record_name(text, [&](std::string_view, std::string_view) { ++count; });
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(text.find(record_header()), text.rfind(record_header()));
}

/// Rule: whatever a killed process left at the end, the next process's records can be read, also if the first kernel
/// that it uses is in the file already and is not written again.
TEST_F(RecorderTest, AnyUnfinishedTailCostsThatRecordAlone) {
  const test::Warnings silent;
  const test::Variable set("KILN_RECORD", path.c_str());
  const std::string whole = file_of({make_record("known")}), cut_one = to_text(make_record("cut\nhere"));
  for (std::size_t cut = 1; cut + 1 < cut_one.size(); ++cut) {
    test::write_text(path, whole + cut_one.substr(0, cut));
    reset_recorder();
    record_kernel(make_record("known"));
    record_kernel(make_record("new"));
    record_kernel(make_record("cut\nhere"));
    ASSERT_EQ(recorded().size(), 3u) << cut_one.substr(0, cut);
  }
}

TEST_F(RecorderTest, AFileWithCrLfIsNotAppendedToAndTheWarningSaysWhy) {
  const std::string text = "kiln record 1\r\n";
  test::write_text(path, text);
  const test::Variable set("KILN_RECORD", path.c_str());
  test::Warnings warnings;
  record_kernel(make_record("a"));
  EXPECT_EQ(test::read_text(path), text);
  ASSERT_EQ(warnings.texts().size(), 1u);
  EXPECT_NE(warnings.texts()[0].find("CR LF"), std::string::npos) << warnings.texts()[0];
}

TEST_F(RecorderTest, ThreadsAndProcessesAppendToOneFile) {
  const test::Variable set("KILN_RECORD", path.c_str());
  constexpr int processes = 8, threads = 4, kernels = 12;
  const int succeeded = run_children(processes, [](int process) {
    std::barrier start(threads);
    std::vector<std::jthread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        start.arrive_and_wait();
        for (int k = 0; k < kernels; ++k)
          record_kernel(make_record(std::string(5000, 'k') + std::to_string((k + t + process) % kernels)));
      });
    }
    pool.clear();
    return is_recording_kernels();
  });
  EXPECT_EQ(succeeded, processes);
  EXPECT_EQ(recorded().size(), static_cast<std::size_t>(kernels));
  std::size_t count = 0;
  const std::string text = test::read_text(path);
  for_each_record_name(text, [&](std::string_view, std::string_view) { ++count; });
  EXPECT_EQ(count, static_cast<std::size_t>(kernels)) << "duplicates";
}

/// What a killed process left at the end of the file, its first line included, does not spoil what follows.
TEST_F(RecorderTest, AppendsAfterAKilledProcess) {
  const test::Variable set("KILN_RECORD", path.c_str());
  const std::string whole = file_of({make_record("a")});
  for (const std::size_t cut : {std::size_t{3}, std::size_t{40}, whole.size() / 2, whole.size() - 3}) {
    test::write_text(path, whole.substr(0, cut));
    reset_recorder();
    record_kernel(make_record("b"));
    const auto kernels = recorded();
    ASSERT_EQ(kernels.size(), 1u) << cut;
    EXPECT_EQ(kernels[0].source.text, "b");
  }
}

TEST_F(RecorderTest, AFileThatIsRemovedIsBegunAgain) {
  const test::Variable set("KILN_RECORD", path.c_str());
  record_kernel(make_record("a"));
  record_kernel(make_record("b"));
  std::filesystem::remove(path);
  record_kernel(make_record("c"));
  ASSERT_EQ(recorded().size(), 1u);
  EXPECT_EQ(recorded()[0].source.text, "c");
}

/// The program runs on, with one warning, whatever is wrong with the place; another file is not touched.
TEST_F(RecorderTest, WhatCannotBeWrittenIsWarnedAboutOnce) {
  const std::string other = directory.path + "/notes.txt", missing = directory.path + "/no/such/place";
  test::write_text(other, "my notes\n");
  for (const std::string& place : {other, missing, directory.path, std::string("/dev/full")}) {
    const test::Variable set("KILN_RECORD", place.c_str());
    test::Warnings warnings;
    reset_recorder();
    for (int i = 0; i < 3; ++i) record_kernel(make_record("kernel " + std::to_string(i)));
    EXPECT_FALSE(is_recording_kernels()) << place;
    ASSERT_EQ(warnings.texts().size(), 1u) << place;
    EXPECT_TRUE(warnings.texts()[0].starts_with("KILN_RECORD=" + place + ": ")) << warnings.texts()[0];
  }
  EXPECT_EQ(test::read_text(other), "my notes\n");
}

}  // namespace
}  // namespace kiln::runtime
