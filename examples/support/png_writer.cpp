// examples/support/png_writer.cpp -- the simplified interface of libpng.
#include "examples/support/png_writer.h"

#include <png.h>

#include <stdexcept>

namespace examples {

void write_png(const std::string& path, const std::vector<std::uint8_t>& pixels, unsigned height, unsigned width,
               unsigned channels) {
  if (pixels.size() != std::size_t{height} * width * channels) throw std::runtime_error("write_png: wrong pixel count");
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr)) {
    throw std::runtime_error("cannot write " + path + ": " + image.message);
  }
}

}  // namespace examples
