// dsl/c/wording.h -- messages of the library in words that hold in every language.
#pragma once

#include <string>
#include <string_view>

namespace kiln::dsl::c {

/// The message without names and advice of the C++ interface: what C and Python programs show their users.
std::string neutral_wording(std::string_view message);

}  // namespace kiln::dsl::c
