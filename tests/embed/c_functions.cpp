// tests/embed/c_functions.cpp -- functions of CUDA text with a host's version, on the CPU and on a GPU where there is
// one.
#include "tests/embed/c_run.h"

namespace c_run {
namespace {

TEST(Functions, ComputeOnEveryDeviceFromTextAndFromCalls) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_kernel* const kernel = kernel_of(smooth_text, {function});
  kiln_function_destroy(function);  // the kernel keeps what it needs
  EXPECT_EQ(host.destroyed, 0);
  for (const kiln_dl_device device : devices()) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = -1.0f + 0.004f * static_cast<float>(i);
    const Tensor x(device, values), y(device, values);
    const float a = 0, b = 2;
    const void* const scalars[] = {&a, &b};
    const kiln_dl_tensor *in = x.get(), *out = y.get();
    OK(kiln_launch(kernel, nullptr, &in, 1, scalars, 2, &out, 1));
    const std::vector<float> got = y.values();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(got[i], expected_smooth(static_cast<double>(values[i])), 1e-5) << i;
  }
  EXPECT_GE(host.elements, 1000);
  kiln_kernel_destroy(kernel);
  EXPECT_EQ(host.destroyed, 1);
}

TEST(Functions, TextsCallThemByNameAndHoldNoCode) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_graph *graph = nullptr, *again = nullptr;
  FAILS(KILN_ERROR_PARSE, "line 5: there is no function 'smooth'", kiln_graph_parse(smooth_text, SIZE_MAX, &graph));
  OK(kiln_graph_parse_with(smooth_text, SIZE_MAX, &function, 1, &graph));
  std::string text(1000, '\0');
  std::size_t length = 0;
  OK(kiln_graph_text(graph, text.data(), text.size(), &length));
  text.resize(length);
  EXPECT_EQ(text, smooth_text);
  EXPECT_EQ(text.find("fminf"), text.npos);
  OK(kiln_graph_parse_with(text.data(), text.size(), &function, 1, &again));
  // A call by hand: one operand too few, and one of a kind that is too high.
  kiln_value v = 0, c = 0;
  const kiln_value two[] = {1, 2};
  FAILS(KILN_ERROR_ARGUMENT, "takes 3 operands, not 2", kiln_graph_call(graph, function, two, 2, &v));
  OK(kiln_graph_input(graph, KILN_C64, 1, &c));
  const kiln_value complex[] = {1, 2, c};
  FAILS(KILN_ERROR_TYPE, "its parameter of type f32", kiln_graph_call(graph, function, complex, 3, &v));
  const kiln_value right[] = {1, 2, 0};
  OK(kiln_graph_call(graph, function, right, 3, &v));
  kiln_graph_destroy(again);
  kiln_graph_destroy(graph);
  kiln_function_destroy(function);
  EXPECT_EQ(host.destroyed, 1);
}

TEST(Functions, WhatIsWrongIsRefusedAndTheContextFreedOnce) {
  kiln_function* function = nullptr;
  const auto refused = [&](kiln_status status, auto spoil) {
    Host host;
    kiln_function_description d = smooth(host);
    spoil(d);
    EXPECT_EQ(kiln_function_create(&d, &function), status) << kiln_last_error();
    EXPECT_EQ(host.destroyed, 1);
    EXPECT_EQ(function, nullptr);
  };
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.name = nullptr; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.name = "sm\xff"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.name = "two words"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.name = "while"; });
  refused(KILN_ERROR_TYPE, [](auto& d) { d.text = "x + 1;"; });  // returns nothing
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.text = nullptr; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.parameter_count = 9; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.parameter_count = 0; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.result_type = 99; });
  refused(KILN_ERROR_ARGUMENT, [](auto& d) { d.reserved = 1; });
}

TEST(Functions, AHostsVersionThatThrowsFailsTheLaunch) {
  Host host;
  const kiln_function_description description = smooth(host);
  kiln_function* function = nullptr;
  OK(kiln_function_create(&description, &function));
  kiln_kernel* const kernel = kernel_of(smooth_text, {function});
  const kiln_dl_device cpu = {KILN_DL_CPU, 0};
  const Tensor x(cpu, std::vector<float>(10, 1.0f));
  const kiln_dl_tensor* const tensor = x.get();
  const float a = 0, b = 2;
  const void* const scalars[] = {&a, &b};
  host.throws = true;
  FAILS(KILN_ERROR_CALLBACK, "function smooth threw", kiln_launch(kernel, nullptr, &tensor, 1, scalars, 2, &tensor, 1));
  host.throws = false;
  OK(kiln_launch(kernel, nullptr, &tensor, 1, scalars, 2, &tensor, 1));
  kiln_kernel_destroy(kernel);
  kiln_function_destroy(function);
}

}  // namespace
}  // namespace c_run
