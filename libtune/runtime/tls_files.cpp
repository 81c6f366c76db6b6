#include "runtime/tls_files.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "tls_objects.hpp"

namespace tune::runtime {
namespace {

namespace fs = std::filesystem;
using CertificateStore = std::unique_ptr<X509_STORE, TlsFree<X509_STORE_free>>;
using Verification = std::unique_ptr<X509_STORE_CTX, TlsFree<X509_STORE_CTX_free>>;
struct FreeChain {
  void operator()(STACK_OF(X509) * chain) const { sk_X509_pop_free(chain, X509_free); }
};
using Chain = std::unique_ptr<STACK_OF(X509), FreeChain>;

Error tls_file_error(const fs::path& path, const std::string& what) {
  return {ErrorCode::not_found, path.string() + ": " + what};
}

Expected<TlsBytes> read_tls_file(const fs::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return tls_file_error(path, std::generic_category().message(errno));
  TlsBytes bytes(BIO_new(BIO_s_mem()));
  char block[4096];
  std::size_t count = 0;
  while ((count = std::fread(block, 1, sizeof block, file.get())) > 0) {
    if (BIO_write(bytes.get(), block, static_cast<int>(count)) <= 0) break;
  }
  if (std::ferror(file.get()) != 0) {
    return tls_file_error(path, std::generic_category().message(errno));
  }
  return bytes;
}

/// All there are; at least one.
Expected<Chain> read_tls_chain(const fs::path& path) {
  const auto bytes = read_tls_file(path);
  if (!bytes) return bytes.error();
  Chain chain(sk_X509_new_null());
  while (X509* const next = PEM_read_bio_X509(bytes->get(), nullptr, nullptr, nullptr)) {
    sk_X509_push(chain.get(), next);
  }
  ERR_clear_error();  // the end of the file is one
  if (sk_X509_num(chain.get()) > 0) return chain;
  return tls_file_error(path, "want a certificate in PEM (-----BEGIN CERTIFICATE-----)");
}

std::string date_text(const ASN1_TIME* time) {
  const TlsBytes bytes(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bytes.get(), time);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Expected<void> check_dates(const fs::path& path, const X509* certificate) {
  const ASN1_TIME* const begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* const end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) < 0) {
    return tls_file_error(path, "the certificate expired on " + date_text(end));
  }
  if (X509_cmp_current_time(begin) > 0) {
    return tls_file_error(path, "the certificate is not valid before " + date_text(begin));
  }
  return {};
}

/// For one of its two uses.
Expected<void> check_issuer(const TlsFiles& files, STACK_OF(X509) * authorities,
                            STACK_OF(X509) * chain, int purpose) {
  const CertificateStore store(X509_STORE_new());
  for (int i = 0; i < sk_X509_num(authorities); ++i) {
    X509_STORE_add_cert(store.get(), sk_X509_value(authorities, i));
  }
  const Verification verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), sk_X509_value(chain, 0), chain);
  X509_STORE_CTX_set_purpose(verification.get(), purpose);
  const bool is_valid = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (is_valid) return {};
  const int reason = X509_STORE_CTX_get_error(verification.get());
  return tls_file_error(files.certificate, "the certificate is not of the CA in " +
                                               files.ca.string() + ": " +
                                               X509_verify_cert_error_string(reason));
}

/// Has OpenSSL never ask for one on the terminal.
int no_passphrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

}  // namespace

std::string explain_missing_tls() { return {}; }

std::string take_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? std::string() : reason;
}

Expected<TlsKey> read_tls_key(const fs::path& path) {
  const auto bytes = read_tls_file(path);
  if (!bytes) return bytes.error();
  bool was_asked = false;
  TlsKey key(PEM_read_bio_PrivateKey(bytes->get(), nullptr, no_passphrase, &was_asked));
  ERR_clear_error();
  if (key) return key;
  return tls_file_error(path, was_asked
                                  ? "the key has a passphrase, want one without"
                                  : "want a private key in PEM (-----BEGIN PRIVATE KEY-----)");
}

Expected<TlsCertificate> read_tls_certificate(const fs::path& path) {
  const auto chain = read_tls_chain(path);
  if (!chain) return chain.error();
  X509* const first = sk_X509_value(chain->get(), 0);
  X509_up_ref(first);
  return TlsCertificate(first);
}

Expected<void> check_tls_files(const TlsFiles& files) {
  const auto authorities = read_tls_chain(files.ca);
  if (!authorities) return authorities.error();
  for (int i = 0; i < sk_X509_num(authorities->get()); ++i) {
    X509* const authority = sk_X509_value(authorities->get(), i);
    if (const auto dated = check_dates(files.ca, authority); !dated) return dated;
    if (X509_check_ca(authority) == 0) {
      return tls_file_error(files.ca, "the certificate is not that of a CA");
    }
  }
  const auto chain = read_tls_chain(files.certificate);
  if (!chain) return chain.error();
  X509* const certificate = sk_X509_value(chain->get(), 0);
  if (const auto dated = check_dates(files.certificate, certificate); !dated) return dated;
  const auto key = read_tls_key(files.key);
  if (!key) return key.error();
  const bool is_its_key = X509_check_private_key(certificate, key->get()) == 1;
  ERR_clear_error();
  if (!is_its_key) {
    return tls_file_error(files.key,
                          "it is not the key of the certificate in " + files.certificate.string());
  }
  // A driver is the server, a node the client.
  for (const int purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    const auto issued = check_issuer(files, authorities->get(), chain->get(), purpose);
    if (!issued) return issued;
  }
  return {};
}

Expected<TlsContext> make_tls_context(const TlsFiles& files) {
  if (const auto checked = check_tls_files(files); !checked) return checked.error();
  TlsContext context(SSL_CTX_new(TLS_method()));
  SSL_CTX* const raw = context.get();
  const bool is_made = raw != nullptr &&
                       // 1.3 never asks in the middle of a connection who the other is.
                       SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1 &&
                       SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) == 1 &&
                       SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
                       SSL_CTX_load_verify_locations(raw, files.ca.c_str(), nullptr) == 1;
  if (!is_made) {
    return tls_file_error(files.certificate, "OpenSSL cannot use it: " + take_tls_error());
  }
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // Each connection shows its certificates anew.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  // Who ends without a word ends like one who says so: CAF tells a lost connection by itself.
  SSL_CTX_set_options(raw, SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

}  // namespace tune::runtime
