#include "store/transfer_cursor.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/seed.hpp"

namespace tune::store {
namespace {

std::vector<char> bytes_of(const std::string& content, const FilePiece& piece) {
  const std::string part = content.substr(piece.offset, piece.size_bytes);
  return {part.begin(), part.end()};
}

TEST_CASE("pieces are asked for in order, the last of a file is what is left", "[cursor]") {
  TransferCursor cursor({5, 0, 2}, {0, 0, 0}, 2);
  CHECK(cursor.missing_bytes() == 7);
  CHECK(cursor.next() == FilePiece{0, 0, 2});
  CHECK(cursor.next() == FilePiece{0, 2, 2});
  CHECK(cursor.next() == FilePiece{0, 4, 1});
  CHECK(cursor.next() == FilePiece{2, 0, 2});
  CHECK(cursor.next() == std::nullopt);
  CHECK_FALSE(cursor.is_complete());
}

TEST_CASE("what is present is not asked for", "[cursor]") {
  TransferCursor cursor({5, 3}, {4, 3}, 2);
  CHECK(cursor.next() == FilePiece{0, 4, 1});
  CHECK(cursor.next() == std::nullopt);
  CHECK(cursor.arrive({0, 4, 1}, {'x'}).size() == 1);
  CHECK(cursor.is_complete());
  CHECK(TransferCursor({3}, {3}, 1).is_complete());
  CHECK(TransferCursor({}, {}, 1).is_complete());
}

TEST_CASE("what comes early waits for what is before it in its file alone", "[cursor]") {
  TransferCursor cursor({2, 1}, {0, 0}, 1);
  while (cursor.next()) {
  }
  CHECK(cursor.arrive({0, 1, 1}, {'b'}).empty());
  CHECK(cursor.arrive({1, 0, 1}, {'c'}).size() == 1);
  const auto arrivals = cursor.arrive({0, 0, 1}, {'a'});
  REQUIRE(arrivals.size() == 2);
  CHECK(arrivals[0].bytes == std::vector<char>{'a'});
  CHECK(arrivals[1].bytes == std::vector<char>{'b'});
  CHECK(cursor.is_complete());
}

TEST_CASE("nothing comes of what was not asked for", "[cursor]") {
  TransferCursor cursor({4}, {0}, 2);
  CHECK(cursor.arrive({0, 0, 2}, {'a', 'b'}).empty());  // not yet
  REQUIRE(cursor.next());
  CHECK(cursor.arrive({0, 2, 2}, {'c', 'd'}).empty());  // not this one
  CHECK(cursor.arrive({9, 0, 2}, {'a', 'b'}).empty());
  CHECK(cursor.arrive({0, 0, 2}, {'a'}).empty());
  CHECK(cursor.arrive({0, 0, 2}, {'a', 'b'}).size() == 1);
  CHECK(cursor.arrive({0, 0, 2}, {'a', 'b'}).empty());  // again
  CHECK(cursor.missing_bytes() == 2);
}

TEST_CASE("in whatever order pieces come, and wherever it breaks off, files become the source's",
          "[cursor]") {
  const std::uint64_t seed = test::test_seed(1);
  for (std::uint64_t round = 0; round < 4000; ++round) {
    INFO("TUNE_TEST_SEED=" << seed << " round " << round);
    std::mt19937_64 random(seed + round);
    const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
    std::vector<std::string> source(1 + draw(4));
    std::vector<std::uint64_t> sizes;
    for (std::string& content : source) {
      content.resize(draw(20));
      for (char& byte : content) byte = static_cast<char>('a' + draw(26));
      sizes.push_back(content.size());
    }
    std::vector<std::string> copy(source.size());
    bool is_complete = false;
    for (int transfer = 0; !is_complete; ++transfer) {
      REQUIRE(transfer < 200);
      std::vector<std::uint64_t> present;
      for (const std::string& content : copy) present.push_back(content.size());
      TransferCursor cursor(sizes, present, static_cast<std::uint32_t>(1 + draw(6)));
      std::vector<FilePiece> asked;
      std::size_t answers_left = draw(12);  // then it breaks off
      while (answers_left-- > 0) {
        while (asked.size() < 4) {
          const auto piece = cursor.next();
          if (!piece) break;
          asked.push_back(*piece);
        }
        if (asked.empty()) break;
        std::swap(asked[draw(asked.size())], asked.back());
        const FilePiece piece = asked.back();
        if (draw(8) != 0) asked.pop_back();  // or it comes twice
        for (const auto& [where, bytes] :
             cursor.arrive(piece, bytes_of(source[piece.file], piece))) {
          REQUIRE(copy[where.file].size() == where.offset);
          copy[where.file].append(bytes.begin(), bytes.end());
        }
      }
      is_complete = cursor.is_complete();
      REQUIRE(is_complete == (copy == source));
    }
  }
}

TEST_CASE("beginnings of files are compared block by block", "[cursor]") {
  PrefixChecks checks({5, 0, 2}, 2);
  CHECK(checks.next() == FilePiece{0, 0, 2});
  CHECK(checks.next() == FilePiece{0, 2, 2});
  CHECK(checks.next() == FilePiece{0, 4, 1});
  CHECK(checks.next() == FilePiece{2, 0, 2});
  CHECK(checks.next() == std::nullopt);
  checks.answer({0, 4, 1}, true);
  checks.answer({2, 0, 2}, true);
  checks.answer({0, 2, 2}, false);
  CHECK_FALSE(checks.is_complete());
  checks.answer({0, 0, 2}, true);
  REQUIRE(checks.is_complete());
  CHECK(checks.right_bytes() == std::vector<std::uint64_t>{2, 0, 2});
}

TEST_CASE("behind a block that differs nothing is compared", "[cursor]") {
  PrefixChecks checks({100, 1}, 2);
  const auto first = checks.next();
  REQUIRE(first);
  checks.answer(*first, false);
  CHECK(checks.next() == FilePiece{1, 0, 1});
  CHECK(checks.next() == std::nullopt);
  checks.answer({1, 0, 1}, true);
  REQUIRE(checks.is_complete());
  CHECK(checks.right_bytes() == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("nothing to compare is complete", "[cursor]") {
  CHECK(PrefixChecks({}, 1).is_complete());
  CHECK(PrefixChecks({0, 0}, 1).is_complete());
}

}  // namespace
}  // namespace tune::store
