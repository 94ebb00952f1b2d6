// Starts a program of a release archive with the libraries and the loader that lie beside it, so that it runs where
// none of its packages is installed and where glibc is older than the one that it was built with. It is linked
// statically and needs nothing itself.
//
//   bin/NAME         this program
//   libexec/NAME     the program that it starts
//   lib/             its libraries, and the loader under the name "loader"
//
// A link to bin/NAME works (krew makes one): the folder is that of the file itself. bin/kubectl_complete-dra, which
// kubectl calls for completions, is kubectl-dra under another name, which it reads from argv[0].
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace {

// The path of this file: by the kernel's word; without /proc by the path that it was started with.
bool own_path(char* path) {
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (length > 0) {
    path[length] = 0;
    return true;
  }
  const char* started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return started != nullptr && realpath(started, path) != nullptr;
}

// Cuts the last part off a path; what it was, or null if there is none.
char* cut(char* path) {
  char* slash = strrchr(path, '/');
  if (slash == nullptr) {
    return nullptr;
  }
  *slash = 0;
  return slash + 1;
}

int refuse(const char* what, const char* path) {
  const char* parts[] = {"dra-controller-manager: ", path, ": ", what, "\n"};
  for (const char* part : parts) {
    if (write(STDERR_FILENO, part, strlen(part)) < 0) {
      break;
    }
  }
  return 127;
}

bool join(char* out, const char* folder, const char* name) {
  if (strlen(folder) + strlen(name) + 1 > PATH_MAX) {
    return false;
  }
  strcpy(stpcpy(out, folder), name);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  static char top[PATH_MAX], name[PATH_MAX], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
  if (!own_path(top)) {
    return refuse("the folder of this program cannot be found: mount /proc, or start it by its whole path",
                  argc > 0 ? argv[0] : "?");
  }
  const char* own = cut(top);
  if (own == nullptr || cut(top) == nullptr ||
      !join(name, "/libexec/", strcmp(own, "kubectl_complete-dra") == 0 ? "kubectl-dra" : own) ||
      !join(loader, top, "/lib/loader") || !join(libraries, top, "/lib") || !join(program, top, name)) {
    return refuse("is not below a folder bin of an unpacked archive", top);
  }
  const char* fixed[] = {loader, "--argv0", own, "--library-path", libraries, program};
  constexpr int kFixed = sizeof(fixed) / sizeof(fixed[0]);
  char** arguments = static_cast<char**>(calloc(kFixed + static_cast<size_t>(argc) + 1, sizeof(char*)));
  if (arguments == nullptr) {
    return refuse("no memory", top);
  }
  for (int i = 0; i < kFixed; ++i) {
    arguments[i] = const_cast<char*>(fixed[i]);
  }
  for (int i = 1; i < argc; ++i) {
    arguments[kFixed + i - 1] = argv[i];
  }
  execv(loader, arguments);
  return refuse("cannot be started; unpack the whole archive and keep bin, lib and libexec together", loader);
}
