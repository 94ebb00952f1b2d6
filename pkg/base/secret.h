// Secrets: tokens and keys. Do not use Random for them: its output reveals its state.
#pragma once

#include <cstddef>
#include <string>

namespace dra {

// `bytes` bytes from the kernel's generator, in lower-case hexadecimal. Safe from any thread.
std::string secret_text(size_t bytes = 32);

}  // namespace dra
