// tests/device/every_place.h -- messages name the line of the call, and no line of kiln's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/devices.h"

class EveryPlace : public OnEachDevice {
 protected:
  /// The message of the error that `run` throws names `line` of `file`, once, and no other file.
  template <class Run>
  static void expect_place(Run run, const std::string& file, int line, const char* code) {
    std::string message = "nothing is thrown";
    try {
      run();
    } catch (const kl::Error& error) {
      message = error.what();
    }
    const std::string place = "(" + file.substr(file.rfind('/') + 1) + ":" + std::to_string(line) + ")";
    const std::size_t at = message.find(place);
    EXPECT_NE(at, std::string::npos) << code << "\n  says: " << message;
    EXPECT_EQ(message.find(".h:"), std::string::npos) << code << "\n  names a header: " << message;
    if (at != std::string::npos) {
      EXPECT_EQ(message.find(place, at + 1), std::string::npos) << code << "\n  twice: " << message;
    }
  }

  kl::Array<float> x = kl::ones<float>({3, 4}), five = kl::ones<float>({5}), none, no_rows = kl::zeros<float>({0, 4});
  const kl::Array<float> fixed = kl::ones<float>({3, 4});
  kl::Array<int> ids = kl::ones<int>({3}), none_of_int;
  kl::Array<std::int8_t> small = kl::ones<std::int8_t>({3});
  std::vector<float> host = std::vector<float>(12, 1.0f);
  std::vector<int> nine = std::vector<int>(9, 1);
  kl::Device missing = kl::Device::cuda(63);
};

#define PLACE(...) expect_place([&] { (void)(__VA_ARGS__); }, __FILE__, __LINE__, #__VA_ARGS__)
