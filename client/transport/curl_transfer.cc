#include "client/transport/curl_transfer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "pkg/base/check.h"
#include "pkg/base/strings.h"

namespace dra::client::curl_internal {
namespace {

constexpr size_t kMaxErrorBody = 4 << 20;  // of a refused stream
constexpr size_t kMaxWarnings = 20;
constexpr size_t kLongestNameRead = 12;  // of a header: content-type
// Before a body of this size libcurl asks a server of HTTP/1.1, and waits a second when there is no reply.
constexpr size_t kAskedFirst = 1 << 20;

curl_blob blob_of(const std::string& text) {
  curl_blob blob;
  blob.data = const_cast<char*>(text.data());
  blob.len = text.size();
  blob.flags = CURL_BLOB_COPY;
  return blob;
}

int number_of(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

// The text of a Warning header: 299 - "the text", with backslash escapes.
std::string warning_text(std::string_view value) {
  size_t open = value.find('"');
  if (open == std::string_view::npos) return std::string(value);
  std::string text;
  for (size_t i = open + 1; i < value.size() && value[i] != '"'; ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

// Where the path of a URL like "https://host:port/path" begins.
size_t path_of(const std::string& url) {
  const size_t scheme = url.find("://");
  return std::min(url.find('/', scheme == std::string::npos ? 0 : scheme + 3), url.size());
}

}  // namespace

HostPort host_of(const std::string& url) {
  HostPort out;
  auto scheme = url.find("://");
  if (scheme == std::string::npos) return out;
  out.scheme = url.substr(0, scheme);
  std::string rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find('/'));
  auto colon = rest.rfind(':');
  if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
    out.port = number_of(std::string_view(rest).substr(colon + 1));
    rest.resize(colon);
  }
  out.host = rest;
  if (out.port == 0) out.port = out.scheme == "http" ? 80 : 443;
  return out;
}

Transfer::~Transfer() {
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

size_t Transfer::on_header(char* data, size_t size, size_t count, void* self) {
  static_cast<Transfer*>(self)->header_line(trim(std::string_view(data, size * count)));
  return size * count;
}

void Transfer::header_line(std::string_view line) {
  if (line.rfind("HTTP/", 0) == 0) {
    // A new head: of the answer itself, or the one after "100 Continue".
    response = Response{};
    head_complete = false;
    auto space = line.find(' ');
    if (space != std::string_view::npos) response.status = number_of(line.substr(space + 1, 3));
    return;
  }
  if (line.empty()) {
    head_complete = response.status >= 200;
    return;
  }
  auto colon = line.find(':');
  if (colon == std::string_view::npos || colon > kLongestNameRead) return;
  std::string name = to_lower(line.substr(0, colon));
  std::string_view value = trim(line.substr(colon + 1));
  if (name == "content-type") response.content_type = std::string(value);
  if (name == "retry-after") response.retry_after_seconds = number_of(value);
  if (name == "warning" && response.warnings.size() < kMaxWarnings) response.warnings.push_back(warning_text(value));
}

size_t Transfer::on_body(char* data, size_t size, size_t count, void* pointer) {
  auto* self = static_cast<Transfer*>(pointer);
  size_t bytes = size * count;
  self->arrived += bytes;
  const auto what = [self] { return self->request.method + " " + self->request.target; };
  if (self->streamed && self->head_is_success()) {
    bool bounded =
        self->splitter_.feed(self->response.content_type, std::string_view(data, bytes), [&](std::string_view line) {
          self->lines.emplace_back(line);
          return true;
        });
    if (!bounded) {
      self->overflow = Error(Code::kResourceExhausted, what() + ": a message of the stream is too long");
      self->overflowed = true;
      return 0;
    }
    return bytes;
  }
  size_t limit = self->streamed ? kMaxErrorBody : self->max_body_bytes;
  if (self->response.body.size() + bytes > limit) {
    self->overflow =
        Error(Code::kResourceExhausted, what() + ": the answer is longer than " + std::to_string(limit) + " bytes");
    self->overflowed = true;
    return 0;
  }
  self->response.body.append(data, bytes);
  return bytes;
}

// Deliberately no seek callback: without one libcurl cannot resend a write by itself when a reused connection turns out
// to be dead after the body was sent.
size_t Transfer::on_read(char* buffer, size_t size, size_t count, void* pointer) {
  auto* self = static_cast<Transfer*>(pointer);
  size_t n = std::min(size * count, self->request.body.size() - self->sent_);
  std::memcpy(buffer, self->request.body.data() + self->sent_, n);
  self->sent_ += n;
  return n;
}

// The settings common to all calls of one transport. The buffer size can be set only once per handle.
void Transfer::prepare(CURL* handle, bool streamed, const ServerConfig& config, const CurlOptions& options) {
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION,
                   static_cast<long>(streamed ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
  curl_easy_setopt(handle, CURLOPT_PIPEWAIT, streamed ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, 15L);
  curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  // Of a stream libcurl reads up to 100 buffers before it returns. A request's holds the answer to most writes, so that
  // no frame of HTTP/2 overflows it.
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, streamed ? 8L * 1024 : 48L * 1024);
  curl_easy_setopt(
      handle, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(options.connect_timeout).count()));
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, &Transfer::on_read);
  if (config.insecure) {
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  } else if (!config.certificate_authority.empty()) {
    curl_blob blob = blob_of(config.certificate_authority);
    curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &blob);
    curl_easy_setopt(handle, CURLOPT_CAPATH, nullptr);
  }
  if (!config.proxy_url.empty()) {
    curl_easy_setopt(handle, CURLOPT_PROXY, config.proxy_url.c_str());
  } else if (is_loopback(host_of(config.server).host)) {
    curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  }
}

void Transfer::configure(CURL* handle, const ServerConfig& config, const CurlOptions& options, Origin& origin) {
  easy = handle;
  curl_slist_free_all(headers_);
  headers_ = nullptr;
  auto header = [&](const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); };
  header("User-Agent: " + options.user_agent);  // libcurl writes its own option twice
  header("Accept: " + request.accept);
  if (!credential.authorization.empty()) header("Authorization: " + credential.authorization);
  if (!config.as_user.empty()) header("Impersonate-User: " + config.as_user);
  if (!request.content_type.empty()) header("Content-Type: " + request.content_type);
  if (request.body.size() >= kAskedFirst) header("Expect:");

  server_ = config.server;
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_READDATA, this);
  set_body();
  set_credential();
  const size_t path = path_of(config.server);
  set_target(origin, set_name(config, config.server.substr(0, path)), config.server.substr(path) + request.target);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
}

void Transfer::forget(CURL* handle) {
  for (const CURLoption option :
       {CURLOPT_PRIVATE, CURLOPT_ERRORBUFFER, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA,
        CURLOPT_HTTPHEADER, CURLOPT_CONNECT_TO, CURLOPT_CURLU, CURLOPT_REQUEST_TARGET})
    curl_easy_setopt(handle, option, nullptr);
}

void Transfer::set_body() {
  const bool has_body = request.method != "GET" && (!request.body.empty() || request.method == "POST");
  curl_easy_setopt(easy, has_body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
  const auto size = has_body ? static_cast<curl_off_t>(request.body.size()) : curl_off_t{-1};
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, size);
  const bool usual = request.method == "GET" || request.method == "POST";
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, usual ? nullptr : request.method.c_str());
}

void Transfer::set_credential() {
  curl_blob certificate = blob_of(credential.certificate);
  curl_blob key = blob_of(credential.key);
  const bool given = !credential.certificate.empty();
  curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, given ? &certificate : nullptr);
  curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, given ? &key : nullptr);
  if (!given) return;
  curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
  curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
}

// Where to connect, as the certificate names it: libcurl verifies the name in the URL, so the wanted name stands there,
// and another option has the real host.
std::string Transfer::set_name(const ServerConfig& config, std::string origin) {
  if (config.tls_server_name.empty() || config.insecure) return origin;
  HostPort real = host_of(config.server);
  if (config.tls_server_name == real.host) return origin;
  std::string port = std::to_string(real.port);
  curl_slist_free_all(connect_to_);
  connect_to_ =
      curl_slist_append(nullptr, (config.tls_server_name + ":" + port + ":" + real.host + ":" + port).c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_);
  headers_ = curl_slist_append(headers_, ("Host: " + real.host + ":" + port).c_str());
  return real.scheme + "://" + config.tls_server_name + ":" + port;
}

// libcurl parses a URL, copies it and writes it as text again, byte by byte: so it gets the target apart. Not of plain
// HTTP: of that a proxy is told the whole URL.
void Transfer::set_target(Origin& shared, const std::string& origin, const std::string& target) {
  const bool apart = origin.starts_with("https://");
  curl_easy_setopt(easy, CURLOPT_CURLU, apart ? shared.parsed(origin) : url_.parsed(origin + target));
  curl_easy_setopt(easy, CURLOPT_REQUEST_TARGET, apart ? target.c_str() : nullptr);
}

CURLU* Origin::parsed(const std::string& url) {
  if (parsed_ != nullptr && url == url_) return parsed_;
  if (parsed_ == nullptr) parsed_ = curl_url();
  DRA_CHECK(parsed_ != nullptr);
  url_ = url;
  // Of a malformed URL nothing is left: libcurl then reports that there is none.
  if (curl_url_set(parsed_, CURLUPART_URL, url.c_str(), CURLU_PATH_AS_IS) != CURLUE_OK)
    curl_url_set(parsed_, CURLUPART_URL, nullptr, 0);
  return parsed_;
}

void Transfer::rewind() {
  response = Response{};
  head_complete = open_reported = false;
  lines.clear();
  splitter_ = StreamSplitter(kMaxLineBytes);
  sent_ = 0;
  error_text[0] = '\0';
}

// Why nothing was sent: in the words of the operating system where it has some.
std::string Transfer::why_unreachable(CURLcode code) const {
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "the name of its host cannot be resolved";
  if (code == CURLE_OPERATION_TIMEDOUT)
    return "no connection came about in time";  // nothing else has a limit in libcurl
  long number = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
  if (number == 0) return "no connection; look at the address, and whether the server is up";
  std::string text = std::strerror(static_cast<int>(number));
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

Result<Response> Transfer::result(CURLcode code) {
  if (overflowed) return fail(overflow);
  if (code == CURLE_OK && response.status != 0) return std::move(response);
  if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT)
    return fail(Code::kUnavailable, "cannot reach " + server_ + ": " + why_unreachable(code));
  std::string what = request.method + " " + request.target;
  // OpenSSL's message ("asn1 encoding routines") needs libcurl's as context.
  std::string why = curl_easy_strerror(code);
  if (error_text[0] != '\0' && why != error_text) why += std::string(": ") + error_text;
  if (code == CURLE_PEER_FAILED_VERIFICATION) why += "; check the certificate authority and the server's name";
  return fail(Code::kUnavailable, what + ": " + why);
}

}  // namespace dra::client::curl_internal
