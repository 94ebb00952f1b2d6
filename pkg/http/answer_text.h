// The text of an answer as HTTP/1.0 and 1.1 write it.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/http/message.h"

namespace dra::http {

struct AnswerForm {
  bool http_1_1 = true;    // else 1.0
  bool keep_alive = true;  // else "Connection: close"
};

// The status line and the fields, without the empty line that ends the head: the caller adds the framing of the body.
std::string head_text(const Response& response, AnswerForm form, WallTime now);

// Adds one chunk of a chunked body. A piece without bytes adds nothing, because an empty chunk ends the body.
void append_chunk(std::string& out, std::string_view piece);

}  // namespace dra::http
