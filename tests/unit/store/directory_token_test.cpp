#include "store/directory_token.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace tune::store {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;

TEST_CASE("who sees the same directory finds its token there", "[token]") {
  const TemporaryFolder folder;
  std::optional<DirectoryToken> token(DirectoryToken::write(folder.path()).value());
  CHECK(sees_token(token->path(), token->content()));
  const fs::path path = token->path();
  const std::string content = token->content();
  token.reset();
  CHECK(fs::is_empty(folder.path()));
  CHECK_FALSE(sees_token(path, content));
}

TEST_CASE("the same path on another disk is another directory", "[token]") {
  const TemporaryFolder folder;
  const auto token = DirectoryToken::write(folder.path()).value();
  const auto other = DirectoryToken::write(folder.path()).value();
  CHECK(token.path() != other.path());
  CHECK_FALSE(sees_token(token.path(), other.content()));
  std::ofstream(token.path()) << token.content() << "x";
  CHECK_FALSE(sees_token(token.path(), token.content()));
  std::ofstream(token.path()) << "";
  CHECK_FALSE(sees_token(token.path(), token.content()));
}

TEST_CASE("a token is no way to look into other files", "[token]") {
  const TemporaryFolder folder;
  const std::string content(32, 'a');
  std::ofstream(folder.path() / "secret") << content;
  CHECK_FALSE(sees_token(folder.path() / "secret", content));
  fs::create_symlink(folder.path() / "secret", folder.path() / ".token-1");
  CHECK_FALSE(sees_token(folder.path() / ".token-1", content));
  CHECK_FALSE(sees_token(".token-1", content));
  CHECK_FALSE(sees_token("", ""));
  std::ofstream(folder.path() / ".token-2") << "";
  CHECK_FALSE(sees_token(folder.path() / ".token-2", ""));  // says nothing
}

TEST_CASE("a token that cannot be written names the path", "[token]") {
  const auto token = DirectoryToken::write("/nowhere/at/all");
  REQUIRE_FALSE(token);
  CHECK_THAT(token.error().message,
             Contains("/nowhere/at/all") && Contains("No such file or directory"));
}

}  // namespace
}  // namespace tune::store
