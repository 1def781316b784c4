// support/check.cpp -- the message of a broken internal invariant.
#include "support/check.h"

namespace kiln {

void internal_failure(const char* condition, const char* file, int line, std::string_view message) {
  fail<InternalError>(
      "kiln: internal error at {}:{}: {} is false{}{}. This is a defect in kiln; please report this message.", file,
      line, condition, message.empty() ? "" : ": ", message);
}

}  // namespace kiln
