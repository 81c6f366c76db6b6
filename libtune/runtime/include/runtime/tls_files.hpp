#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tune/error.hpp>

namespace tune::runtime {

/// What a machine shows to others, and by whom it knows them: files in PEM.
struct TlsFiles {
  std::filesystem::path ca;           ///< Whoever has a certificate of this CA is let in.
  std::filesystem::path certificate;  ///< This machine's, of that CA.
  std::filesystem::path key;          ///< That of the certificate, without a passphrase.
};

/// Why this build has no TLS; empty if it has.
[[nodiscard]] std::string explain_missing_tls();

/// Whether connections can be made with them: each file is there and can be read, is what it should
/// be, and has not expired; the key is the certificate's, and that is of the CA. An error names the
/// file and the reason.
[[nodiscard]] Expected<void> check_tls_files(const TlsFiles& files);

/// Makes a private CA in `directory` (ca.pem, ca-key.pem), or uses the one that is there, and of it
/// a certificate for each name (NAME.pem, NAME-key.pem). Keys are for their owner alone to read.
/// What is there is not overwritten. The files that were made.
[[nodiscard]] Expected<std::vector<std::filesystem::path>> make_certificates(
    const std::filesystem::path& directory, const std::vector<std::string>& names);

}  // namespace tune::runtime
