// tests/unit/support/settings_test.cpp -- environment table, unknown names, the log's ladder and sink, hashes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "support/check.h"
#include "support/hash.h"
#include "tests/unit/temporary.h"

namespace kiln {
namespace {

using test::Variable;
using test::Warnings;

TEST(SettingsTest, TableHoldsExactlyTheDocumentedNames) {
  std::set<std::string> names;
  for (const Setting& s : settings()) {
    names.insert(s.name);
    EXPECT_GT(std::string(s.meaning).size(), 10u) << s.name;
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"KILN_DEVICE", "KILN_CACHE_DIR", "KILN_CACHE", "KILN_CACHE_LIMIT", "KILN_TUNE",
                                   "KILN_DEBUG", "KILN_NVRTC", "KILN_BUNDLE", "KILN_RECORD", "KILN_THREADS"}));
}

TEST(SettingsTest, ValueDefaultAndEmpty) {
  {
    const Variable unset("KILN_CACHE", nullptr);
    EXPECT_EQ(setting("KILN_CACHE"), "on");
    EXPECT_FALSE(is_set("KILN_CACHE"));
  }
  {
    const Variable set("KILN_CACHE", "ro");
    EXPECT_EQ(setting("KILN_CACHE"), "ro");
    EXPECT_TRUE(is_set("KILN_CACHE"));
  }
  const Variable empty("KILN_CACHE", "");
  EXPECT_EQ(setting("KILN_CACHE"), "on") << "an empty value means the default";
  EXPECT_THROW(setting("KILN_NOT_LISTED"), InternalError);
}

/// Rule: relative paths are those of the directory in which settings are first read, also after a chdir; a record's
/// name may hold a colon, a list of bundles is taken apart at colons.
TEST(SettingsTest, RelativePathsStayWhereTheyWereAfterAChangeOfDirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  const test::TemporaryDirectory elsewhere;
  const Variable record("KILN_RECORD", "out/a:b.kiln"), cache("KILN_CACHE_DIR", "/absolute"), debug("KILN_DEBUG", "0");
  const Variable bundles("KILN_BUNDLE", "a.klb:/b.klb:c/d.klb");
  std::filesystem::current_path(elsewhere.path);
  const std::string record_after = setting("KILN_RECORD"), bundles_after = setting("KILN_BUNDLE");
  std::filesystem::current_path(before);
  EXPECT_EQ(record_after, before.string() + "/out/a:b.kiln");
  EXPECT_EQ(bundles_after, before.string() + "/a.klb:/b.klb:" + before.string() + "/c/d.klb");
  EXPECT_EQ(setting("KILN_CACHE_DIR"), "/absolute");
  EXPECT_EQ(setting("KILN_DEBUG"), "0");
}

/// Run by the next test in a process of its own: writes what it finds after a change of directory.
TEST(SettingsTest, DISABLED_AfterAChangeOfDirectory) {
  const char* const output = std::getenv("OUTPUT");
  ASSERT_TRUE(output);
  std::filesystem::current_path("/");
  std::ofstream(output) << setting("KILN_CACHE_DIR") << '\n' << setting("KILN_BUNDLE") << '\n';
}

/// Rule: a relative path of the environment is that of the directory in which the process began, also where the program
/// changes it before it first uses kiln.
TEST(SettingsTest, RelativePathsAreThoseOfTheStart) {
  const test::TemporaryDirectory start;
  const std::string directory = std::filesystem::canonical(start.path).string(), output = directory + "/output";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "cd '" + directory + "' && OUTPUT=" + output +
                              " KILN_CACHE_DIR=cache KILN_BUNDLE=/a.klb:b.klb '" + self +
                              "' --gtest_also_run_disabled_tests "
                              "--gtest_filter=SettingsTest.DISABLED_AfterAChangeOfDirectory > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(output);
  std::string cache, bundles;
  std::getline(file, cache);
  std::getline(file, bundles);
  EXPECT_EQ(cache, directory + "/cache");
  EXPECT_EQ(bundles, "/a.klb:" + directory + "/b.klb");
}

TEST(SettingsTest, UnknownNameIsReportedOnceWithTheNearestKnownOne) {
  Warnings warnings;
  const Variable wrong("KILN_CAHCE_DIR", "/x");
  log_level();
  log_level();
  const auto texts = warnings.texts();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("KILN_CAHCE_DIR"), std::string::npos);
  EXPECT_NE(texts[0].find("did you mean KILN_CACHE_DIR?"), std::string::npos) << texts[0];
}

TEST(LogTest, LevelComesFromTheEnvironmentAndRejectsOthers) {
  {
    const Variable three("KILN_DEBUG", "3");
    EXPECT_TRUE(log_enabled(3));
    EXPECT_FALSE(log_enabled(4));
  }
  Warnings warnings;
  const Variable seven("KILN_DEBUG", "7");
  EXPECT_EQ(log_level(), 0);
  ASSERT_EQ(warnings.texts().size(), 1u);
  EXPECT_NE(warnings.texts()[0].find("KILN_DEBUG=7"), std::string::npos);
}

TEST(LogTest, EachWarningIsPrintedOnceAndMessagesBelowTheLevelAreNotFormatted) {
  Warnings warnings;
  warn_once("first");
  warn_once("second");
  warn_once("first");
  EXPECT_EQ(warnings.texts(), (std::vector<std::string>{"first", "second"}));
  const Variable zero("KILN_DEBUG", "0");
  bool formatted = false;
  KILN_LOG(1, "{}", (formatted = true));
  EXPECT_FALSE(formatted);
}

// The reference test set of BLAKE3: byte i of the input is i % 251. One block, one chunk, whole and broken trees.
TEST(HashTest, Blake3OfReferenceVectors) {
  const std::pair<std::size_t, const char*> vectors[] = {
      {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
      {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"},
      {64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98"},
      {65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee"},
      {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"},
      {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"},
      {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"},
      {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"},
      {3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"},
      {4096, "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969"},
      {5120, "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833"},
      {31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"},
      {102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"},
  };
  for (const auto& [size, digest] : vectors) {
    std::string data(size, '\0');
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<char>(i % 251);
    EXPECT_EQ(to_hex(blake3(data)), digest) << size << " bytes";
  }
  EXPECT_EQ(to_hex(blake3(""), 4), "af1349b9");
}

TEST(HashTest, MixIsTheSplitmix64Sequence) {
  // First outputs of splitmix64 seeded with 0: the state advances by the golden gamma.
  EXPECT_EQ(mix(0, 0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(mix(0, 0x9e3779b97f4a7c15ull), 0x6e789e6aa1b965f4ull);
}

}  // namespace
}  // namespace kiln
