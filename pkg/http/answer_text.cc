#include "pkg/http/answer_text.h"

#include <chrono>
#include <cstdio>
#include <ctime>

namespace dra::http {

namespace {

std::string http_date(WallTime now) {
  const std::time_t t =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[40];
  const size_t n = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
  return {text, n};
}

}  // namespace

std::string head_text(const Response& response, AnswerForm form, WallTime now) {
  std::string head = "HTTP/1." + std::string(form.http_1_1 ? "1 " : "0 ") + std::to_string(response.status) + " " +
                     std::string(reason_phrase(response.status)) + "\r\n";
  for (const auto& [name, value] : response.headers.fields()) head += name + ": " + value + "\r\n";
  head += "Date: " + http_date(now) + "\r\n";
  if (!form.keep_alive) head += "Connection: close\r\n";
  return head;
}

void append_chunk(std::string& out, std::string_view piece) {
  if (piece.empty()) return;
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  out += size;
  out += piece;
  out += "\r\n";
}

}  // namespace dra::http
