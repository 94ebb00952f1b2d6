#include "pkg/manager/metered_transport.h"

#include <utility>

namespace dra::manager {

namespace {

std::string code_label(const Result<client::Response>& answer) {
  return answer ? std::to_string(answer->status) : "<error>";
}

}  // namespace

Handle MeteredTransport::send(client::Request request, Done done) {
  const MonoTime start = clock_.mono_now();
  std::string method = request.method;
  return inner_.send(std::move(request), [this, start, method = std::move(method),
                                          done = std::move(done)](Result<client::Response> answer) {
    instruments_.count_request(method, code_label(answer), host_,
                               std::chrono::duration<double>(clock_.mono_now() - start).count());
    done(std::move(answer));
  });
}

Handle MeteredTransport::stream(client::Request request, client::StreamCallbacks callbacks) {
  const MonoTime start = clock_.mono_now();
  std::string method = request.method;
  auto on_open = std::move(callbacks.on_open);
  callbacks.on_open = [this, start, method, on_open = std::move(on_open)](const client::Response& head) {
    instruments_.count_request(method, std::to_string(head.status), host_,
                               std::chrono::duration<double>(clock_.mono_now() - start).count());
    if (on_open) on_open(head);
  };
  return inner_.stream(std::move(request), std::move(callbacks));
}

}  // namespace dra::manager
