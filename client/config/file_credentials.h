// Credentials in files that something else rotates: tokens and client certificates.
#pragma once

#include <memory>
#include <string>

#include "client/config/credentials.h"
#include "client/config/kubeconfig.h"
#include "pkg/base/clock.h"

namespace dra::client {

struct CredentialFiles {
  std::string token;        // a file with a bearer token; surrounding white space is removed
  std::string certificate;  // PEM files; both or neither
  std::string key;
};

// Reads the files at the first get(), again once the result is older than a minute, and immediately after a rejection.
// If a file is unreadable or empty, the previous result stays in use until the server rejects it. `fixed` contains the
// credentials that are not in files. `clock` and `files` must outlive the source.
std::shared_ptr<CredentialSource> file_credentials(const Clock& clock, const FileReader& files, CredentialFiles paths,
                                                   Credential fixed);

}  // namespace dra::client
