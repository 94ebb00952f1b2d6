// Credentials in files that somebody else rotates: tokens and client certificates.
#pragma once

#include <memory>
#include <string>

#include "client/config/credentials.h"
#include "client/config/kubeconfig.h"
#include "pkg/base/clock.h"

namespace dra::client {

struct CredentialFiles {
  std::string token;        // a file with a bearer token; white space around it is dropped
  std::string certificate;  // PEM files; both or none
  std::string key;
};

// Reads the files at the first get(), again when what it has is older than a minute, and at once after a rejection. A
// file that cannot be read or is empty keeps what was read before, until that is rejected. `fixed` holds what does not
// come from files. `clock` and `files` must outlive the source.
std::shared_ptr<CredentialSource> file_credentials(const Clock& clock, const FileReader& files, CredentialFiles paths,
                                                   Credential fixed);

}  // namespace dra::client
