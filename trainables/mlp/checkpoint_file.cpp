#include "trainables/mlp/checkpoint_file.hpp"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <zlib.h>

namespace tune::trainables {
namespace {

constexpr std::string_view magic = "tune-mlp";
constexpr std::uint32_t version = 1;
static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error("checkpoint " + file.string() + ": " + what);
}

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  /// The length, then the elements.
  template <class T>
  void put_all(std::span<const T> values) {
    put<std::uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void put_raw(std::string_view text) { bytes_.append(text); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Takes values off the front of a file's content; asking for more than there is names the file.
class ByteReader {
 public:
  ByteReader(std::filesystem::path file, std::string_view bytes)
      : file_(std::move(file)), bytes_(bytes) {}

  template <class T>
  T take(const std::string& what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    const std::string_view raw = take_raw(sizeof(T), what);
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  template <class Container>
  Container take_all(const std::string& what) {
    using T = typename Container::value_type;
    const auto length = take<std::uint64_t>("length of " + what);
    if (length > bytes_.size() / sizeof(T)) {
      fail(file_, std::to_string(length) + " elements of " + what + ", but only " +
                      std::to_string(bytes_.size()) + " bytes follow");
    }
    Container values(static_cast<std::size_t>(length), T{});
    const std::string_view raw = take_raw(values.size() * sizeof(T), what);
    if (!values.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  std::string_view take_raw(std::size_t size, const std::string& what) {
    if (bytes_.size() < size) {
      fail(file_, "ends inside " + what + ": " + std::to_string(bytes_.size()) + " bytes, want " +
                      std::to_string(size));
    }
    const std::string_view raw = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return raw;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::filesystem::path file_;
  std::string_view bytes_;
};

std::string read_whole_file(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(file, "cannot open: " + std::generic_category().message(errno));
  std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) fail(file, "cannot read: " + std::generic_category().message(errno));
  return bytes;
}

void check_frame(const std::filesystem::path& file, std::string_view bytes) {
  constexpr std::size_t smallest = magic.size() + sizeof(version) + sizeof(std::uint32_t);
  if (bytes.size() < smallest) {
    fail(file, std::to_string(bytes.size()) + " bytes, want at least " + std::to_string(smallest));
  }
  if (!bytes.starts_with(magic)) fail(file, "does not begin with \"" + std::string(magic) + "\"");
  ByteReader reader(file, bytes.substr(magic.size()));
  if (const auto found = reader.take<std::uint32_t>("version"); found != version) {
    fail(file, "version " + std::to_string(found) + ", want " + std::to_string(version));
  }
  ByteReader end(file, bytes.substr(bytes.size() - sizeof(std::uint32_t)));
  const auto wanted = end.take<std::uint32_t>("checksum");
  const std::uint32_t found = checksum(bytes.substr(0, bytes.size() - sizeof(wanted)));
  if (found != wanted) {
    fail(file, "checksum " + std::to_string(found) + ", want " + std::to_string(wanted) +
                   ": cut off or damaged");
  }
}

std::string join(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    if (!text.empty()) text += '-';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace

void write_checkpoint_file(const std::filesystem::path& file, const MlpState& state) {
  ByteWriter writer;
  writer.put_raw(magic);
  writer.put(version);
  writer.put_all<std::int64_t>(state.sizes);
  writer.put_all<char>(state.optimizer);
  writer.put(state.epochs);
  writer.put(state.optimizer_steps);
  writer.put_all<float>(state.parameters);
  writer.put<std::uint64_t>(state.optimizer_state.size());
  for (const std::vector<float>& values : state.optimizer_state) writer.put_all<float>(values);
  writer.put(checksum(writer.bytes()));

  errno = 0;
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(writer.bytes().data(), static_cast<std::streamsize>(writer.bytes().size()));
  stream.close();
  if (!stream) fail(file, "cannot write: " + std::generic_category().message(errno));
}

MlpState read_checkpoint_file(const std::filesystem::path& file) {
  const std::string bytes = read_whole_file(file);
  check_frame(file, bytes);
  ByteReader reader(file,
                    std::string_view(bytes).substr(
                        magic.size() + sizeof(version),
                        bytes.size() - magic.size() - sizeof(version) - sizeof(std::uint32_t)));
  MlpState state;
  state.sizes = reader.take_all<std::vector<std::int64_t>>("layer widths");
  state.optimizer = reader.take_all<std::string>("optimizer name");
  state.epochs = reader.take<std::int64_t>("epochs");
  state.optimizer_steps = reader.take<std::int64_t>("optimizer steps");
  state.parameters = reader.take_all<std::vector<float>>("parameters");
  const auto arrays = reader.take<std::uint64_t>("number of optimizer arrays");
  for (std::uint64_t i = 0; i < arrays; ++i) {
    const std::string what = "optimizer array " + std::to_string(i);
    state.optimizer_state.push_back(reader.take_all<std::vector<float>>(what));
    if (state.optimizer_state.back().size() != state.parameters.size()) {
      fail(file, what + " has " + std::to_string(state.optimizer_state.back().size()) +
                     " elements, want " + std::to_string(state.parameters.size()));
    }
  }
  if (reader.left() != 0) {
    fail(file, std::to_string(reader.left()) + " bytes too many, want none after the last array");
  }
  if (state.epochs < 0 || state.optimizer_steps < 0) {
    fail(file, std::to_string(state.epochs) + " epochs and " +
                   std::to_string(state.optimizer_steps) + " optimizer steps, want none below 0");
  }
  return state;
}

MlpState read_matching_checkpoint(const std::filesystem::path& file, const MlpShape& wanted) {
  MlpState state = read_checkpoint_file(file);
  const auto require_equal = [&](const std::string& what, const std::string& found,
                                 const std::string& allowed) {
    if (found != allowed) fail(file, what + " " + found + ", want " + allowed + " as configured");
  };
  require_equal("layer widths", join(state.sizes), join(wanted.sizes));
  require_equal("optimizer", state.optimizer, wanted.optimizer);
  require_equal("number of parameters", std::to_string(state.parameters.size()),
                std::to_string(wanted.parameters));
  require_equal("number of optimizer arrays", std::to_string(state.optimizer_state.size()),
                std::to_string(wanted.optimizer_arrays));
  return state;
}

}  // namespace tune::trainables
