#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <tune/json.hpp>

#include "core/number_text.hpp"
#include "runtime/tls_files.hpp"
#include "tls_objects.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;

constexpr long day_seconds = 24L * 60 * 60;
constexpr long ca_days = 3650;
constexpr long certificate_days = 825;

struct Authority {
  TlsCertificate certificate;
  TlsKey key;
};

Error certificate_error(const std::string& what) {
  return {ErrorCode::io, what + ": " + take_tls_error()};
}

void add_extension(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  if (X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value)) {
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
}

/// A number that no other certificate has, so that whoever makes several CAs can tell them apart.
bool set_serial(X509* certificate) {
  unsigned char bytes[8];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  std::uint64_t number = 0;
  for (const unsigned char byte : bytes) number = number << 8U | byte;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1U) == 1;
}

/// A certificate of `issuer`, or of itself if that is null.
Expected<Authority> make_certificate(const std::string& name, const Authority* issuer, long days) {
  Authority made{TlsCertificate(X509_new()), TlsKey(EVP_EC_gen("P-256"))};
  X509* const certificate = made.certificate.get();
  if (certificate == nullptr || !made.key || !set_serial(certificate)) {
    return certificate_error("cannot make a key for " + name);
  }
  X509_set_version(certificate, X509_VERSION_3);
  // Clocks of machines differ a little.
  X509_gmtime_adj(X509_getm_notBefore(certificate), -day_seconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * day_seconds);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* const signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  add_extension(certificate, signer, NID_subject_key_identifier, "hash");
  add_extension(certificate, signer, NID_authority_key_identifier, "keyid:always");
  if (issuer == nullptr) {
    add_extension(certificate, signer, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, signer, NID_key_usage, "critical,keyCertSign,cRLSign");
  } else {
    add_extension(certificate, signer, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(certificate, signer, NID_key_usage, "critical,digitalSignature");
    add_extension(certificate, signer, NID_ext_key_usage, "serverAuth,clientAuth");
  }
  EVP_PKEY* const signing_key = issuer != nullptr ? issuer->key.get() : made.key.get();
  if (X509_sign(certificate, signing_key, EVP_sha256()) == 0) {
    return certificate_error("cannot sign the certificate of " + name);
  }
  return made;
}

/// A new file, that none may have been before.
template <class Write>
Expected<void> write_pem(const fs::path& path, mode_t mode, const Write& write) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  std::FILE* const file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w");
  bool is_written = file != nullptr && write(file);
  int reason = errno;
  if (file != nullptr && std::fclose(file) != 0) {
    is_written = false;
    reason = errno;
  }
  if (is_written) return {};
  return Error{ErrorCode::io,
               "cannot write " + path.string() + ": " + std::generic_category().message(reason)};
}

Expected<void> write_pair(const fs::path& certificate, const fs::path& key, const Authority& made) {
  constexpr mode_t for_owner = 0600;
  constexpr mode_t for_all = 0644;
  const auto written = write_pem(key, for_owner, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1;
  });
  if (!written) return written;
  return write_pem(certificate, for_all, [&](std::FILE* file) {
    return PEM_write_X509(file, made.certificate.get()) == 1;
  });
}

Expected<void> check_certificate_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  constexpr std::size_t longest = 64;
  const bool is_reserved = name == "ca" || name == "ca-key" || name.ends_with("-key");
  if (is_plain && !is_reserved && !name.empty() && name.size() <= longest && name[0] != '.' &&
      name[0] != '-') {
    return {};
  }
  return Error{ErrorCode::not_found,
               "the name of a certificate is " + core::value_text(Json(name)) +
                   ", want letters, digits, '.', '-' and '_', at most 64 of them, and neither ca "
                   "nor an end in -key"};
}

/// The one in the directory; made if there is none. `made` has what was.
Expected<Authority> find_authority(const fs::path& directory, std::vector<fs::path>& made) {
  const fs::path certificate = directory / "ca.pem";
  const fs::path key = directory / "ca-key.pem";
  std::error_code ignored;
  if (fs::exists(certificate, ignored) || fs::exists(key, ignored)) {
    auto found_certificate = read_tls_certificate(certificate);
    if (!found_certificate) return found_certificate.error();
    auto found_key = read_tls_key(key);
    if (!found_key) return found_key.error();
    const bool is_its_key = X509_check_private_key(found_certificate->get(), found_key->get()) == 1;
    ERR_clear_error();
    if (!is_its_key) {
      return Error{ErrorCode::not_found,
                   key.string() + ": it is not the key of the CA in " + certificate.string()};
    }
    return Authority{std::move(*found_certificate), std::move(*found_key)};
  }
  auto authority = make_certificate("tune CA", nullptr, ca_days);
  if (!authority) return authority;
  if (const auto written = write_pair(certificate, key, *authority); !written) {
    return written.error();
  }
  made.insert(made.end(), {certificate, key});
  return authority;
}

}  // namespace

Expected<std::vector<fs::path>> make_certificates(const fs::path& directory,
                                                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto checked = check_certificate_name(name); !checked) return checked.error();
  }
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Error{ErrorCode::io, "cannot make " + directory.string() + ": " + error.message()};
  }
  std::vector<fs::path> made;
  const auto authority = find_authority(directory, made);
  if (!authority) return authority.error();
  for (const std::string& name : names) {
    const auto pair = make_certificate(name, &*authority, certificate_days);
    if (!pair) return pair.error();
    const fs::path certificate = directory / (name + ".pem");
    const fs::path key = directory / (name + "-key.pem");
    const auto written = write_pair(certificate, key, *pair);
    if (!written) return written.error();
    made.insert(made.end(), {certificate, key});
  }
  return made;
}

}  // namespace tune::runtime
