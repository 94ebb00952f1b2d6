#include "pkg/sandbox/server_handler.h"

#include <charconv>
#include <utility>

#include "pkg/http/message.h"

namespace dra::sandbox {
namespace {

client::Response head_of(const http::Response& response) {
  client::Response head;
  head.status = response.status;
  head.content_type = response.headers.get("Content-Type");
  const std::string_view retry = response.headers.get("Retry-After");
  std::from_chars(retry.data(), retry.data() + retry.size(), head.retry_after_seconds);
  for (const auto& [name, value] : response.headers.fields())
    if (name == "Warning") head.warnings.push_back(value);
  return head;
}

class ExchangeResponder : public http::Responder {
 public:
  explicit ExchangeResponder(std::shared_ptr<client::ServerExchange> exchange) : exchange_(std::move(exchange)) {}
  ~ExchangeResponder() override {
    if (!answered_) exchange_->respond({.status = 500, .body = "the server dropped the request"});
  }

  void send(http::Response response) override {
    answered_ = true;
    client::Response answer = head_of(response);
    answer.body = std::move(response.body);
    exchange_->respond(std::move(answer));
  }
  void begin_stream(http::Response head) override {
    answered_ = true;
    exchange_->open(head_of(head));
  }
  bool write(std::string_view piece) override {
    if (exchange_->gone()) return false;
    exchange_->write(piece);
    return true;
  }
  void end() override { exchange_->end(); }
  // Written data is delivered as soon as the reactor runs.
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()> callback) override { exchange_->on_gone(std::move(callback)); }

 private:
  std::shared_ptr<client::ServerExchange> exchange_;
  bool answered_ = false;
};

}  // namespace

void ServerHandler::handle(const client::Request& request, const std::string& token,
                           std::shared_ptr<client::ServerExchange> exchange) {
  http::Request forwarded;
  forwarded.method = request.method;
  forwarded.target = request.target;
  forwarded.body = request.body;
  if (!request.accept.empty()) forwarded.headers.add("Accept", request.accept);
  if (!request.content_type.empty()) forwarded.headers.add("Content-Type", request.content_type);
  forwarded.headers.add("User-Agent", user_agent_);
  if (!token.empty()) forwarded.headers.add("Authorization", "Bearer " + token);
  server_.handle(std::move(forwarded), std::make_shared<ExchangeResponder>(std::move(exchange)));
}

}  // namespace dra::sandbox
