// The files of the page (web/model, web/page), compiled into the program by embed.cmake.
#pragma once

#include <string>
#include <vector>

namespace dra::web {

struct Asset {
  std::string name;  // "page/main.js"
  std::string text;
};
const std::vector<Asset>& assets();

}  // namespace dra::web
