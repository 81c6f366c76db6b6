#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "runtime/tls_files.hpp"
#include "support/temporary_folder.hpp"

namespace tune::test {

/// A private CA with certificates, and what may be wrong with them.
class TestCertificates {
 public:
  TestCertificates() {
    if (!runtime::make_certificates(path(), {"node", "other"})) throw std::runtime_error("no CA");
  }

  [[nodiscard]] std::filesystem::path path() const { return folder_.path(); }
  [[nodiscard]] runtime::TlsFiles files(const std::string& name = "node") const {
    return {path() / "ca.pem", path() / (name + ".pem"), path() / (name + "-key.pem")};
  }

  /// Gives a certificate another time, in seconds from now.
  void date(const std::string& name, long begin, long end) const {
    X509* const certificate = read(path() / (name + ".pem"));
    X509_gmtime_adj(X509_getm_notBefore(certificate), begin);
    X509_gmtime_adj(X509_getm_notAfter(certificate), end);
    std::FILE* file = std::fopen((path() / "ca-key.pem").c_str(), "r");
    EVP_PKEY* const key = PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    X509_sign(certificate, key, EVP_sha256());
    file = std::fopen((path() / (name + ".pem")).c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    EVP_PKEY_free(key);
    X509_free(certificate);
  }

 private:
  static X509* read(const std::filesystem::path& path) {
    std::FILE* const file = std::fopen(path.c_str(), "r");
    X509* const certificate = PEM_read_X509(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    return certificate;
  }

  TemporaryFolder folder_;
};

}  // namespace tune::test
