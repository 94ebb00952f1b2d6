#include "pkg/inspect/source/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

// Closes its descriptor, except standard input.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd > 2) ::close(fd);
  }
};

Unexpected refused(const std::string& doing, const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kInvalidArgument;
  return fail(code, "cannot " + doing + " " + quote(path) + ": " + std::strerror(errno));
}

}  // namespace

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return refused("open", path);
  std::string text;
  std::string buffer(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t count = ::read(file.fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused("read", path);
    if (count == 0) return text;
    text.append(buffer, 0, static_cast<size_t>(count));
    if (text.size() > max_bytes)
      return fail(Code::kResourceExhausted, quote(path) + " is larger than " + std::to_string(max_bytes) + " bytes");
  }
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp" + std::to_string(::getpid());
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (file.fd < 0) return refused("write", path);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      auto error = refused("write", path);
      ::unlink(temporary.c_str());
      return error;
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = refused("write", path);
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace dra::inspect
