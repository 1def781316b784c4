// codegen/emit/shared_products.h -- products that must not be fused with additions, or equal elements would differ.
#pragma once

#include <vector>

#include "codegen/schedule/schedule.h"

namespace kiln::codegen {

/// Per node of the body: a floating product that several elements of one thread share and that is added to what they do
/// not share. NVRTC computes such a product once and fuses it with the additions where they are few; how many they are
/// depends on the elements per thread. Rounded by itself, its bits do not. And a product by a literal that is added to
/// anything: whether NVRTC fuses it depends on how its other factor is loaded.
std::vector<char> shared_products(const Kernel& kernel, Template form);

}  // namespace kiln::codegen
