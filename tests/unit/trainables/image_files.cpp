#include "image_files.hpp"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <zlib.h>

#include <tune/random.hpp>

namespace tune::test {
namespace {

void write_images(const std::filesystem::path& folder, const std::string& prefix, std::size_t count,
                  Random random) {
  constexpr std::size_t image_size = 16;
  constexpr std::size_t classes = 3;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t label = i < classes ? i : random.below(classes);  // each class at least once
    labels.push_back(static_cast<std::uint8_t>(label));
    for (std::size_t pixel = 0; pixel < image_size; ++pixel) {
      const std::uint64_t noise = random.below(120);
      pixels.push_back(static_cast<std::uint8_t>(pixel / 4 == label ? 130 + noise : noise));
    }
  }
  const auto size = static_cast<std::uint32_t>(count);
  write_gzip(folder / (prefix + "-images-idx3-ubyte.gz"), idx_bytes({size, 4, 4}, pixels));
  write_gzip(folder / (prefix + "-labels-idx1-ubyte.gz"), idx_bytes({size}, labels));
}

}  // namespace

std::string idx_bytes(const std::vector<std::uint32_t>& dimensions,
                      std::span<const std::uint8_t> values) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dimensions.size())};
  for (const std::uint32_t length : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift & 0xff);
  }
  bytes.append(values.begin(), values.end());
  return bytes;
}

void write_plain(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << bytes;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file.string());
}

void write_gzip(const std::filesystem::path& file, const std::string& bytes) {
  gzFile stream = gzopen(file.c_str(), "wb");
  if (stream == nullptr) throw std::runtime_error("cannot open " + file.string());
  const int written = gzwrite(stream, bytes.data(), static_cast<unsigned>(bytes.size()));
  if (gzclose(stream) != Z_OK || written != static_cast<int>(bytes.size())) {
    throw std::runtime_error("cannot write " + file.string());
  }
}

std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + file.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_tiny_data_set(const std::filesystem::path& folder, std::size_t training_images,
                         std::size_t test_images) {
  write_images(folder, "train", training_images, Random(1, "train"));
  write_images(folder, "t10k", test_images, Random(1, "test"));
}

}  // namespace tune::test
