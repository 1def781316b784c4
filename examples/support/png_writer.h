// examples/support/png_writer.h -- writes an 8-bit RGB or grey picture as a PNG file, uncompressed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace examples {

/// `pixels` holds height x width x channels values (1 grey, 3 RGB). Throws std::runtime_error
/// where the number of pixels is another or the file cannot be written.
void write_png(const std::string& path, const std::vector<std::uint8_t>& pixels, unsigned height, unsigned width,
               unsigned channels);

}  // namespace examples
