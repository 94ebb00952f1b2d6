// The bytes that make a terminal show a frame (ECMA-48). Pure.
#pragma once

#include <optional>
#include <string>

#include "pkg/screen/screen.h"

namespace dra::screen {

// `before`: what the terminal shows; nothing: it is cleared first. Lines that are the same are not sent again.
std::string paint(const std::optional<Frame>& before, const Frame& frame, bool colour);

}  // namespace dra::screen
