// examples/support/png_writer.cpp -- PNG (ISO/IEC 15948) with stored deflate blocks: no compression, no other library.
#include "examples/support/png_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <stdexcept>

namespace examples {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put_big_endian(Bytes& bytes, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

/// CRC-32 of PNG's appendix D, by a table of what each byte does.
std::uint32_t crc(const std::uint8_t* begin, const std::uint8_t* end) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> entries;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t c = byte;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
      entries[byte] = c;
    }
    return entries;
  }();
  std::uint32_t c = ~0u;
  for (; begin != end; ++begin) c = table[(c ^ *begin) & 0xff] ^ (c >> 8);
  return ~c;
}

void put_chunk(Bytes& file, const char* type, const Bytes& data) {
  put_big_endian(file, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = file.size();
  file.insert(file.end(), type, type + 4);
  file.insert(file.end(), data.begin(), data.end());
  put_big_endian(file, crc(file.data() + begin, file.data() + file.size()));
}

/// A zlib stream of stored blocks, at most 65535 bytes each.
Bytes stored(const Bytes& data) {
  constexpr std::size_t largest = 65535;
  Bytes stream = {0x78, 0x01};
  for (std::size_t begin = 0; begin < data.size(); begin += largest) {
    const std::size_t size = std::min(largest, data.size() - begin);
    const auto low = static_cast<std::uint8_t>(size), high = static_cast<std::uint8_t>(size >> 8);
    const bool last = begin + size == data.size();
    stream.insert(stream.end(), {std::uint8_t{last}, low, high, std::uint8_t(~low), std::uint8_t(~high)});
    stream.insert(stream.end(), data.begin() + std::ptrdiff_t(begin), data.begin() + std::ptrdiff_t(begin + size));
  }
  std::uint32_t a = 1, b = 0;  // Adler-32
  for (const std::uint8_t byte : data) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  put_big_endian(stream, b << 16 | a);
  return stream;
}

}  // namespace

void write_png(const std::string& path, const std::vector<std::uint8_t>& pixels, unsigned height, unsigned width,
               unsigned channels) {
  const std::size_t row = std::size_t{width} * channels;
  if (row == 0 || height == 0 || pixels.size() != height * row || (channels != 1 && channels != 3))
    throw std::runtime_error("write_png: the number of pixels is not that of the picture");
  constexpr std::uint8_t grey = 0, rgb = 2;
  Bytes header;
  put_big_endian(header, width);
  put_big_endian(header, height);
  header.insert(header.end(), {8, channels == 3 ? rgb : grey, 0, 0, 0});
  Bytes scanlines;
  scanlines.reserve(height * (row + 1));
  for (std::size_t y = 0; y < height; ++y) {
    scanlines.push_back(0);  // no filter
    scanlines.insert(scanlines.end(), pixels.begin() + std::ptrdiff_t(y * row),
                     pixels.begin() + std::ptrdiff_t((y + 1) * row));
  }
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  put_chunk(file, "IHDR", header);
  put_chunk(file, "IDAT", stored(scanlines));
  put_chunk(file, "IEND", {});
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace examples
