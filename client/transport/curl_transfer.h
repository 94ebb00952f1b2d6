// One call of CurlTransport: its libcurl easy handle, its request and the data received. Internal to the transport.
//
// libcurl's callbacks only collect data; it is delivered later, outside libcurl, because a user's callback may start
// and cancel calls.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "client/config/credentials.h"
#include "client/config/server_config.h"
#include "client/transport/curl_transport.h"
#include "client/transport/stream_splitter.h"

namespace dra::client::curl_internal {

// The server's URL as libcurl parsed it, once for all calls of a transport. Outlives the calls that use it.
class Origin {
 public:
  ~Origin() { curl_url_cleanup(parsed_); }
  Origin() = default;
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  CURLU* parsed(const std::string& url);

 private:
  std::string url_;
  CURLU* parsed_ = nullptr;
};

struct Transfer {
  Transfer(uint64_t i, Request r, size_t max_body) : id(i), request(std::move(r)), max_body_bytes(max_body) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Sets what is the same for every call: once per handle, before configure(). A handle made for streams serves only
  // streams.
  static void prepare(CURL* handle, bool streamed, const ServerConfig& config, const CurlOptions& options);
  // Sets what belongs to this call.
  void configure(CURL* handle, const ServerConfig& config, const CurlOptions& options, Origin& origin);
  // Removes the handle's pointers to this object.
  static void forget(CURL* handle);
  // Takes the result, once libcurl has reported the end of the transfer.
  Result<Response> result(CURLcode code);
  // Discards what was received and rewinds the body: for the second try after a 401.
  void rewind();

  // Delivers the remainder of a stream that ended in order: a last line without a newline is a line too. A truncated
  // frame is delivered as it is: its reader must see that it is unreadable.
  void take_rest() {
    if (head_is_success() && !splitter_.rest().empty()) lines.emplace_back(splitter_.rest());
  }
  bool head_is_success() const { return head_complete && response.ok(); }

  const uint64_t id;
  Request request;
  const size_t max_body_bytes;
  bool streamed = false;
  Transport::Done done;
  StreamCallbacks callbacks;
  Handle timer;

  Credential credential;
  bool tried_again = false;  // after a 401
  bool had_credential = false;
  bool counted = false;  // among the calls in flight, or the streams
  std::string group;     // calls of one namespace share a turn; not for streams
  CURL* easy = nullptr;  // while the call is in flight

  // Collected by libcurl's callbacks.
  Response response;
  bool head_complete = false;
  bool open_reported = false;
  uint64_t arrived = 0;         // bytes of the body
  uint64_t arrived_before = 0;  // as of the last check for stalls
  MonoTime next_nudge{};
  std::deque<std::string> lines;
  Error overflow{Code::kInternal, ""};
  bool overflowed = false;
  char error_text[CURL_ERROR_SIZE] = {};

 private:
  static size_t on_header(char* data, size_t size, size_t count, void* self);
  static size_t on_body(char* data, size_t size, size_t count, void* self);
  static size_t on_read(char* buffer, size_t size, size_t count, void* self);
  void header_line(std::string_view line);
  void set_credential();
  std::string set_name(const ServerConfig& config, std::string origin);
  void set_target(Origin& shared, const std::string& origin, const std::string& target);
  std::string why_unreachable(CURLcode code) const;
  void set_body();

  StreamSplitter splitter_{kMaxLineBytes};
  size_t sent_ = 0;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  Origin url_;          // with the target, where that is not given apart
  std::string server_;  // of the configuration, for messages
};

// Host and port of a URL like "https://host:port/path"; port 0 if it has none.
struct HostPort {
  std::string scheme;
  std::string host;
  int port = 0;
};
HostPort host_of(const std::string& url);

}  // namespace dra::client::curl_internal
