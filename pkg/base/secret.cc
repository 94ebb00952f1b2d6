#include "pkg/base/secret.h"

#include <sys/random.h>

#include <algorithm>

namespace dra {

std::string secret_text(size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  while (text.size() < 2 * bytes) {
    unsigned char piece[32];
    const size_t wanted = std::min(sizeof piece, bytes - text.size() / 2);
    // The kernel returns this few bytes in one piece; early in boot the call waits until the generator is ready.
    if (::getrandom(piece, wanted, 0) != static_cast<ssize_t>(wanted)) continue;
    for (size_t i = 0; i < wanted; ++i) {
      text += kDigits[piece[i] >> 4];
      text += kDigits[piece[i] & 15];
    }
  }
  return text;
}

}  // namespace dra
