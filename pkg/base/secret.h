// Secrets: tokens and keys. Random is not for those: its state can be computed from what it gave out.
#pragma once

#include <cstddef>
#include <string>

namespace dra {

// `bytes` bytes from the kernel's generator, in lower-case hexadecimal. Safe from any thread.
std::string secret_text(size_t bytes = 32);

}  // namespace dra
