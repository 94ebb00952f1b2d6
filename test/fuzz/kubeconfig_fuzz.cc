// Any bytes as a kubeconfig. Beyond not crashing, it must hold that
//  - a refusal says why and names the file,
//  - the server is an http or https URL without a user.
#include <map>

#include "client/config/kubeconfig.h"
#include "pkg/reactor/sim_reactor.h"
#include "test/fuzz/seed_text.h"

namespace {

using namespace dra;

class NoFiles : public client::FileReader {
 public:
  Result<std::string> read(const std::string& path) const override {
    if (path.ends_with(".pem")) return std::string("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
    return fail(Code::kNotFound, "no such file");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 64 * 1024) return 0;
  const std::string text = fuzz::seed_text(data, size);
  ManualClock clock;
  SimReactor reactor(clock);
  NoFiles files;
  for (const char* name : {"", "c"}) {
    auto config = client::parse_kubeconfig(text, "/etc/kubeconfig", name, {&reactor, &files});
    if (!config) {
      REQUIRE(!config.error().message().empty());
      continue;
    }
    const std::string& server = config->server;
    REQUIRE(server.starts_with("http://") || server.starts_with("https://"));
    const size_t begin = server.find("://") + 3;
    const size_t end = std::min(server.find_first_of("/?#\\", begin), server.size());
    REQUIRE(server.substr(begin, end - begin).find('@') == std::string::npos);
  }
  return 0;
}
