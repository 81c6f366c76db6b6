#pragma once

#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <tune/error.hpp>

#include "runtime/tls_files.hpp"

/// What OpenSSL makes, with its owner.
namespace tune::runtime {

template <auto free_object>
struct TlsFree {
  template <class T>
  void operator()(T* object) const {
    free_object(object);
  }
};

using TlsBytes = std::unique_ptr<BIO, TlsFree<BIO_free_all>>;
using TlsKey = std::unique_ptr<EVP_PKEY, TlsFree<EVP_PKEY_free>>;
using TlsCertificate = std::unique_ptr<X509, TlsFree<X509_free>>;
using TlsContext = std::unique_ptr<SSL_CTX, TlsFree<SSL_CTX_free>>;
using TlsSession = std::unique_ptr<SSL, TlsFree<SSL_free>>;

/// What went wrong last in a call of OpenSSL on this thread, in its words; it forgets it.
[[nodiscard]] std::string take_tls_error();

/// For both ends of connections on which each shows a certificate of the same CA.
[[nodiscard]] Expected<TlsContext> make_tls_context(const TlsFiles& files);

[[nodiscard]] Expected<TlsKey> read_tls_key(const std::filesystem::path& path);
/// The first one there.
[[nodiscard]] Expected<TlsCertificate> read_tls_certificate(const std::filesystem::path& path);

}  // namespace tune::runtime
