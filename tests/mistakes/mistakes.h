// tests/mistakes/mistakes.h -- a mistake of a new user, what kiln must say to it, and what to write instead.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <kiln/kiln.h>

namespace kl = kiln;

struct Mistake {
  const char* section = nullptr;
  const char* wrote = nullptr;
  const char* instead = nullptr;
  std::function<std::string()> message;  ///< of the expected class, or "" where nothing or something else was thrown
  std::function<void()> repaired;
  std::vector<const char*> parts;  ///< of the message
  bool has_place = true;           ///< the message names this file
  bool needs_gpu = false;
  bool needs_nvrtc = false;
  bool varies = false;  ///< the message depends on the machine
};

/// What a call of `wrong` throws as an E.
template <class E, class Wrong>
std::string message_of(Wrong wrong) {
  try {
    wrong();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    std::printf("  another error: %s\n", error.what());
  }
  return "";
}

// Parentheses protect commas: MISTAKE(ShapeError, (x.reshape({5, 2})), (x.reshape({6, 2})), "reshape", "(3, 4)").
#define KILN_UNWRAPPED(...) __VA_ARGS__
#define KILN_TEXT(...) #__VA_ARGS__
#define MISTAKE(error, wrong, right, ...)                                               \
  list.push_back({section,                                                              \
                  KILN_TEXT wrong,                                                      \
                  KILN_TEXT right,                                                      \
                  [&] { return message_of<kl::error>([&] { KILN_UNWRAPPED wrong; }); }, \
                  [&] { KILN_UNWRAPPED right; },                                        \
                  {__VA_ARGS__}})
