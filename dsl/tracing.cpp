// dsl/tracing.cpp -- what is refused while a lambda is traced, and why.
#include "dsl/tracing.h"

#include "dsl/shapes.h"
#include "support/check.h"

namespace kiln::dsl {

constinit thread_local int tracing __attribute__((tls_model("initial-exec"))) = 0;

void check_not_tracing(const char* what, detail::Where where) {
  if (tracing == 0) [[likely]]
    return;
  fail<TypeError>(
      "an array is {} inside of a lambda that is being traced{}: the lambda runs once per argument types, so later "
      "calls would keep what it found the first time; give the array to the function as an argument, or read it before "
      "and give the number as one",
      what, place(where));
}

}  // namespace kiln::dsl
