#include "runtime/tls_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"
#include "support/test_certificates.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using test::TemporaryFolder;
using test::TestCertificates;

constexpr long an_hour = 3600;

/// What check_tls_files() says; empty if all is well.
std::string fault_of(const TlsFiles& files) {
  const auto checked = check_tls_files(files);
  return checked ? std::string() : checked.error().message;
}

TEST_CASE("certificates that were made can be used", "[tls_files]") {
  const TestCertificates made;
  CHECK(fault_of(made.files("node")).empty());
  CHECK(fault_of(made.files("other")).empty());
}

TEST_CASE("keys that were made are for their owner alone", "[tls_files]") {
  const TestCertificates made;
  for (const char* name : {"ca-key.pem", "node-key.pem"}) {
    CHECK(fs::status(made.path() / name).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
  }
}

TEST_CASE("a later certificate is of the CA that is there", "[tls_files]") {
  const TestCertificates made;
  const auto later = make_certificates(made.path(), {"node-3.example"});
  REQUIRE(later);
  CHECK(*later == std::vector<fs::path>{made.path() / "node-3.example.pem",
                                        made.path() / "node-3.example-key.pem"});
  CHECK(fault_of(made.files("node-3.example")).empty());
}

TEST_CASE("certificates are not overwritten", "[tls_files]") {
  const TestCertificates made;
  const auto again = make_certificates(made.path(), {"node"});
  REQUIRE_FALSE(again);
  CHECK_THAT(again.error().message, Contains("node-key.pem: File exists"));
  CHECK(fault_of(made.files("node")).empty());
}

TEST_CASE("a name of a certificate is that of a file", "[tls_files]") {
  const TemporaryFolder folder;
  const std::string name = GENERATE(as<std::string>{}, "", "../x", "a/b", ".x", "-x", "ca",
                                    "ca-key", "x-key", "a b", "ö", std::string(65, 'x'));
  const auto made = make_certificates(folder.path() / "made", {name});
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Contains("want letters, digits"));
  CHECK_FALSE(fs::exists(folder.path() / "made"));
}

TEST_CASE("a directory that cannot be made is named", "[tls_files]") {
  const auto made = make_certificates("/proc/nothing", {"node"});
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error().message, Contains("cannot make /proc/nothing"));
}

TEST_CASE("a file that is not there is named", "[tls_files]") {
  const TestCertificates made;
  TlsFiles files = made.files();
  fs::path& path = GENERATE(true, false) ? files.ca : files.key;
  path = made.path() / "absent.pem";
  CHECK(fault_of(files) == path.string() + ": No such file or directory");
  path = made.path();
  CHECK_THAT(fault_of(files), Contains(path.string() + ": Is a directory"));
}

TEST_CASE("a file that holds something else is named", "[tls_files]") {
  const TestCertificates made;
  TlsFiles files = made.files();
  files.ca = files.key;
  CHECK_THAT(fault_of(files), Contains("node-key.pem: want a certificate in PEM"));
  files = made.files();
  files.certificate = files.key;
  CHECK_THAT(fault_of(files), Contains("node-key.pem: want a certificate in PEM"));
  files = made.files();
  files.key = files.certificate;
  CHECK_THAT(fault_of(files), Contains("node.pem: want a private key in PEM"));
  files = made.files();
  files.ca = files.certificate;
  CHECK_THAT(fault_of(files), Contains("node.pem: the certificate is not that of a CA"));
  std::ofstream(made.path() / "node.pem") << "-----BEGIN CERTIFICATE-----\nAAAA\n";
  CHECK_THAT(fault_of(made.files()), Contains("node.pem: want a certificate in PEM"));
}

TEST_CASE("a key of another certificate is refused", "[tls_files]") {
  const TestCertificates made;
  TlsFiles files = made.files("node");
  files.key = made.files("other").key;
  CHECK(fault_of(files) == files.key.string() + ": it is not the key of the certificate in " +
                               files.certificate.string());
}

TEST_CASE("a key with a passphrase is refused, not asked for", "[tls_files]") {
  const TestCertificates made;
  const std::string key = made.files().key.string();
  const std::string command = "openssl pkcs8 -topk8 -v2 aes-256-cbc -passout pass:secret -in " +
                              key + " -out " + key + ".locked 2>/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  TlsFiles files = made.files();
  files.key += ".locked";
  CHECK_THAT(fault_of(files), Contains("-key.pem.locked: the key has a passphrase"));
}

TEST_CASE("a certificate out of its time is refused, with the time", "[tls_files]") {
  const TestCertificates made;
  made.date("node", -2 * an_hour, -an_hour);
  CHECK_THAT(fault_of(made.files()), Contains("node.pem: the certificate expired on "));
  made.date("node", an_hour, 2 * an_hour);
  CHECK_THAT(fault_of(made.files()), Contains("node.pem: the certificate is not valid before "));
  made.date("node", -an_hour, an_hour);
  CHECK(fault_of(made.files()).empty());
  made.date("ca", -2 * an_hour, -an_hour);
  CHECK_THAT(fault_of(made.files()), Contains("ca.pem: the certificate expired on "));
}

TEST_CASE("a certificate of another CA is refused", "[tls_files]") {
  const TestCertificates made;
  const TestCertificates others;
  TlsFiles files = made.files();
  files.ca = others.files().ca;
  CHECK_THAT(fault_of(files),
             Contains("node.pem: the certificate is not of the CA in " + files.ca.string()));
}

TEST_CASE("the guide's openssl commands make certificates that can be used", "[tls_files]") {
  std::ifstream in(SECURITY_GUIDE);
  const std::string guide{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = guide.find("```sh\n");
  REQUIRE(begin != std::string::npos);
  const std::string commands = guide.substr(begin + 6, guide.find("```", begin + 6) - begin - 6);
  CHECK(std::count(commands.begin(), commands.end(), '\n') == 4);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "commands") << "set -e\n" << commands;
  const std::string run = "cd '" + folder.path().string() + "' && sh commands >/dev/null 2>&1";
  REQUIRE(std::system(run.c_str()) == 0);
  const fs::path& made = folder.path();
  CHECK(fault_of({made / "ca.pem", made / "node1.pem", made / "node1-key.pem"}).empty());
}

}  // namespace
}  // namespace tune::runtime
