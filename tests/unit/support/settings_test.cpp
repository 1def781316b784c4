// tests/unit/support/settings_test.cpp -- environment table, unknown names, the log's ladder and sink, hashes.
#include <gtest/gtest.h>

#include <algorithm>
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

// The empty input's digest is the first vector of the BLAKE3 reference test set.
TEST(HashTest, Blake3OfReferenceVectors) {
  EXPECT_EQ(to_hex(blake3("")), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(to_hex(blake3(std::string_view("\0", 1))),
            "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213");
  EXPECT_EQ(to_hex(blake3(""), 4), "af1349b9");
}

TEST(HashTest, MixIsTheSplitmix64Sequence) {
  // First outputs of splitmix64 seeded with 0: the state advances by the golden gamma.
  EXPECT_EQ(mix(0, 0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(mix(0, 0x9e3779b97f4a7c15ull), 0x6e789e6aa1b965f4ull);
}

}  // namespace
}  // namespace kiln
