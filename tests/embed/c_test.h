// tests/embed/c_test.h -- checks for the C99 tests: what failed, where, and the message of the library.
#ifndef KILN_TESTS_EMBED_C_TEST_H
#define KILN_TESTS_EMBED_C_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kiln/kiln_c.h>

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++failures;                                                             \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

// The status of a call; a message of the library belongs to every failure.
#define CHECK_STATUS(wanted, call)                                                                               \
  do {                                                                                                           \
    const kiln_status got = (call);                                                                              \
    if (got != (wanted)) {                                                                                       \
      ++failures;                                                                                                \
      fprintf(stderr, "%s:%d: %s gave %s (%s), expected %s\n", __FILE__, __LINE__, #call, kiln_status_name(got), \
              kiln_last_error(), kiln_status_name(wanted));                                                      \
    }                                                                                                            \
  } while (0)
#define OK(call) CHECK_STATUS(KILN_OK, call)

// The last message names this.
#define CHECK_MESSAGE(part)                                                                               \
  do {                                                                                                    \
    if (!strstr(kiln_last_error(), (part))) {                                                             \
      ++failures;                                                                                         \
      fprintf(stderr, "%s:%d: '%s' does not name '%s'\n", __FILE__, __LINE__, kiln_last_error(), (part)); \
    }                                                                                                     \
  } while (0)

#endif  // KILN_TESTS_EMBED_C_TEST_H
