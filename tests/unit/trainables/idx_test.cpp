#include "trainables/idx.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "image_files.hpp"
#include "support/temporary_folder.hpp"

namespace tune::trainables {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

/// A file in a folder of its own.
struct IdxFile {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "values.gz";
};

std::vector<std::uint8_t> ascending(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i);
  return values;
}

TEST_CASE("read_idx reads dimensions and values, compressed or plain", "[idx]") {
  const IdxFile file;
  const std::vector<std::uint8_t> values = ascending(24);
  SECTION("compressed") { test::write_gzip(file.path, test::idx_bytes({2, 3, 4}, values)); }
  SECTION("plain") { test::write_plain(file.path, test::idx_bytes({2, 3, 4}, values)); }
  const IdxArray array = read_idx(file.path, 3);
  CHECK(array.dimensions == std::vector<std::size_t>{2, 3, 4});
  CHECK(array.values == values);
}

TEST_CASE("read_idx names a file that is not there, and why", "[idx]") {
  CHECK_THROWS_WITH(read_idx("/nowhere/train.gz", 3),
                    Contains("/nowhere/train.gz") && Contains("cannot open: No such file"));
}

TEST_CASE("read_idx refuses another magic number", "[idx]") {
  const IdxFile file;
  SECTION("another number of dimensions") {
    test::write_gzip(file.path, test::idx_bytes({6}, ascending(6)));
    CHECK_THROWS_WITH(read_idx(file.path, 3), Contains(file.path.string()) &&
                                                  Contains("magic number 0x00000801") &&
                                                  Contains("want 0x00000803"));
  }
  SECTION("another element type") {
    std::string bytes = test::idx_bytes({6}, ascending(6));
    bytes[2] = '\x0d';  // float
    test::write_gzip(file.path, bytes);
    CHECK_THROWS_WITH(read_idx(file.path, 1), Contains("magic number 0x00000d01"));
  }
  SECTION("no IDX file and not compressed") {
    test::write_plain(file.path, "<html>404 not found</html>");
    CHECK_THROWS_WITH(read_idx(file.path, 3),
                      Contains(file.path.string()) && Contains("magic number 0x3c68746d"));
  }
}

TEST_CASE("read_idx refuses another number of values than its header announces", "[idx]") {
  const IdxFile file;
  std::string bytes = test::idx_bytes({2, 3}, ascending(6));
  SECTION("too few") {
    bytes.pop_back();
    test::write_gzip(file.path, bytes);
    CHECK_THROWS_WITH(read_idx(file.path, 2),
                      Contains(file.path.string()) && Contains("5 values, want 6"));
  }
  SECTION("too many") {
    test::write_gzip(file.path, bytes + '\0');
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains("more than the 6 values"));
  }
  SECTION("no dimension at all") {
    test::write_gzip(file.path, bytes.substr(0, 4));
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains("ends inside the header: 0 bytes"));
  }
  SECTION("half a dimension") {
    test::write_gzip(file.path, bytes.substr(0, 10));
    CHECK_THROWS_WITH(read_idx(file.path, 2),
                      Contains("ends inside the header: 2 bytes of dimension 1, want 4"));
  }
  SECTION("nothing") {
    test::write_gzip(file.path, "");
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains("0 bytes of magic number, want 4"));
  }
  SECTION("a dimension of 0") {
    test::write_gzip(file.path, test::idx_bytes({0, 3}, {}));
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains("dimension 0 is 0, want at least 1"));
  }
}

TEST_CASE("read_idx believes no header that claims more than there is", "[idx]") {
  const IdxFile file;
  SECTION("more than memory") {
    test::write_gzip(file.path, test::idx_bytes({0xffffffff, 0xffff}, ascending(6)));
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains("6 values, want 281470681677825"));
  }
  SECTION("more than can be addressed") {
    test::write_gzip(file.path,
                     test::idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, ascending(6)));
    CHECK_THROWS_WITH(read_idx(file.path, 3), Contains("dimension 2 is 4294967295"));
  }
}

TEST_CASE("read_idx says what is wrong with compressed data", "[idx]") {
  const IdxFile file;
  test::write_gzip(file.path, test::idx_bytes({5, 20}, ascending(100)));
  std::string bytes = test::read_bytes(file.path);
  SECTION("cut off") {
    test::write_plain(file.path, bytes.substr(0, 60));
    CHECK_THROWS_WITH(read_idx(file.path, 2),
                      Equals(file.path.string() + ": damaged: unexpected end of file"));
  }
  SECTION("another checksum than its content has") {
    char& checksum = bytes[bytes.size() - 8];
    checksum = static_cast<char>(checksum ^ 1);
    test::write_plain(file.path, bytes);
    CHECK_THROWS_WITH(read_idx(file.path, 2),
                      Equals(file.path.string() + ": damaged: incorrect data check"));
  }
}

TEST_CASE("read_idx notices every cut and every flipped byte of the compressed data", "[idx]") {
  const IdxFile file;
  const std::string bytes = test::idx_bytes({5, 20}, ascending(100));
  test::write_gzip(file.path, bytes);
  const std::string whole = test::read_bytes(file.path);
  REQUIRE_NOTHROW(read_idx(file.path, 2));

  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO("cut to " << length << " of " << whole.size() << " bytes");
    test::write_plain(file.path, whole.substr(0, length));
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains(file.path.string()));
  }
  constexpr std::size_t gzip_header = 10;  // holds a time and a name that nobody checks
  for (std::size_t i = gzip_header; i < whole.size(); ++i) {
    INFO("byte " << i << " of " << whole.size() << " flipped");
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    test::write_plain(file.path, damaged);
    CHECK_THROWS_WITH(read_idx(file.path, 2), Contains(file.path.string()));
  }
}

}  // namespace
}  // namespace tune::trainables
