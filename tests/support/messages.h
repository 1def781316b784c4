// tests/support/messages.h -- what errors say.
#pragma once

#include <exception>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include <kiln/error.h>

namespace messages {

/// The message of the E that `body` throws.
template <class E = kiln::Error, class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

inline void expect_mentions(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_TRUE(has(message, part)) << part << " in: " << message;
}

}  // namespace messages
