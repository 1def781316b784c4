// runtime/cpu/jit/image.h -- turns a relocatable ELF object into one flat position-independent image.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::cpu_jit {

/// Lays out the object's code and constants behind an image header and applies every relocation. Returns the error
/// text, empty on success: undefined symbols and absolute addresses are errors.
std::string link_image(std::string_view object, std::string_view entry, std::vector<char>& image);

}  // namespace kiln::cpu_jit
