// tests/unit/support/error_test.cpp -- the exception family: types, shared text, messages of checks.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "support/check.h"

namespace kiln {
namespace {

TEST(ErrorTest, CopiesShareOneTextAndNeverThrow) {
  static_assert(std::is_nothrow_copy_constructible_v<ShapeError> && std::is_nothrow_copy_assignable_v<ShapeError>);
  const char* address = nullptr;
  ShapeError copy("replaced");
  {
    const ShapeError original(std::string("axis 3 of a rank-2 array").c_str());
    address = original.what();
    copy = original;
  }
  EXPECT_EQ(copy.what(), address);  // the text outlives the first owner
  EXPECT_STREQ(copy.what(), "axis 3 of a rank-2 array");
  const ShapeError& self = copy;
  copy = self;
  EXPECT_STREQ(copy.what(), "axis 3 of a rank-2 array");
}

TEST(ErrorTest, EveryClassIsCaughtAsErrorAndAsStdException) {
  EXPECT_THROW(fail<ShapeError>("x"), Error);
  EXPECT_THROW(fail<TypeError>("x"), std::exception);
  EXPECT_THROW(fail<CompileError>("x"), CompileError);
  EXPECT_THROW(fail<DeviceError>("x"), Error);
  EXPECT_THROW(fail<OutOfMemory>("x"), Error);
  EXPECT_THROW(fail<IoError>("x"), Error);
  // Siblings are not confused.
  try {
    fail<IoError>("{} of {}", 3, "four");
  } catch (const DeviceError&) {
    FAIL() << "an IoError is no DeviceError";
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "3 of four");
  }
}

TEST(ErrorTest, InternalCheckNamesConditionPlaceAndMessage) {
  try {
    KILN_INTERNAL_CHECK(1 + 1 == 3, "sum of {}", 7);
    FAIL() << "the check passed";
  } catch (const InternalError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("error_test.cpp"), std::string::npos) << text;
    EXPECT_NE(text.find("sum of 7"), std::string::npos) << text;
  }
  bool evaluated = false;
  KILN_INTERNAL_CHECK(true, "{}", (evaluated = true));
  EXPECT_FALSE(evaluated) << "messages are formatted only on failure";
}

}  // namespace
}  // namespace kiln
