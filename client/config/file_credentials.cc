#include "client/config/file_credentials.h"

#include <utility>

#include "pkg/base/strings.h"

namespace dra::client {
namespace {

constexpr Duration kReread = std::chrono::seconds(60);

class FileCredentials : public CredentialSource {
 public:
  FileCredentials(const Clock& clock, const FileReader& files, CredentialFiles paths, Credential fixed)
      : clock_(clock), files_(files), paths_(std::move(paths)), fixed_(std::move(fixed)) {}

  void get(std::function<void(Result<Credential>)> done) override {
    MonoTime now = clock_.mono_now();
    bool fresh = have_ && !stale_ && now - read_at_ < kReread;
    if (!fresh) {
      auto read = read_all();
      if (read) {
        current_ = std::move(*read);
        have_ = true;
        stale_ = false;
        read_at_ = now;
      } else if (!have_ || stale_) {
        done(fail(read.error()));
        return;
      }
    }
    done(current_);
  }

  void rejected(const Credential& credential) override {
    if (credential == current_) stale_ = true;
  }

 private:
  Result<Credential> read_all() {
    Credential out = fixed_;
    if (!paths_.token.empty()) {
      auto token = files_.read(paths_.token);
      if (!token) return fail(Code::kUnauthenticated, "token file: " + token.error().message());
      std::string_view text = trim(*token);
      if (text.empty()) return fail(Code::kUnauthenticated, "token file " + quote(paths_.token) + " is empty");
      if (text.find_first_of("\r\n") != std::string_view::npos) {
        return fail(Code::kUnauthenticated, "token file " + quote(paths_.token) + " has more than one line");
      }
      out.authorization = "Bearer " + std::string(text);
    }
    if (!paths_.certificate.empty()) {
      auto certificate = files_.read(paths_.certificate);
      if (!certificate) return fail(Code::kUnauthenticated, "client certificate: " + certificate.error().message());
      auto key = files_.read(paths_.key);
      if (!key) return fail(Code::kUnauthenticated, "client key: " + key.error().message());
      out.certificate = std::move(*certificate);
      out.key = std::move(*key);
    }
    return out;
  }

  const Clock& clock_;
  const FileReader& files_;
  CredentialFiles paths_;
  Credential fixed_;
  Credential current_;
  bool have_ = false;
  bool stale_ = false;
  MonoTime read_at_{};
};

}  // namespace

std::shared_ptr<CredentialSource> file_credentials(const Clock& clock, const FileReader& files, CredentialFiles paths,
                                                   Credential fixed) {
  return std::make_shared<FileCredentials>(clock, files, std::move(paths), std::move(fixed));
}

}  // namespace dra::client
