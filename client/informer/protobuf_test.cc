// Reflectors of kinds read in protobuf, with servers that do not offer it or send it malformed.
#include <gtest/gtest.h>

#include "client/informer/informer.h"
#include "client/testing/fake_server.h"
#include "client/transport/stream_splitter.h"
#include "pkg/base/protobuf_wire.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::protobuf_test {

using namespace std::chrono_literals;

const Resource kPods{"", "v1", "pods", "Pod", true};
const std::string kPath = "/api/v1/pods";

std::string field(int number, std::string_view bytes) {
  std::string out;
  append_bytes_field(out, number, bytes);
  return out;
}

std::string enveloped(const std::string& api_version, const std::string& kind, const std::string& message) {
  return std::string(api::kProtobufMagic) + field(1, field(1, api_version) + field(2, kind)) + field(2, message);
}

std::string pod(const std::string& name, const std::string& uid, const std::string& revision) {
  return enveloped("v1", "Pod", field(1, field(1, name) + field(3, "ns") + field(5, uid) + field(6, revision)));
}

std::string event(const std::string& type, const std::string& object) {
  return field(1, type) + field(2, field(1, object));
}

std::string bookmark(uint64_t revision) {
  const std::string end = field(12, field(1, "k8s.io/initial-events-end") + field(2, "true"));
  return event("BOOKMARK", enveloped("v1", "Pod", field(1, field(6, std::to_string(revision)) + end)));
}

std::string framed(const std::string& message) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> shift);
  return out + message;
}

// Answers requests for protobuf with `body` (a watch or a list); everything else as FakeServer does.
class Server : public RequestHandler {
 public:
  explicit Server(Reactor& reactor) : fake(reactor) {}

  void handle(const Request& request, const std::string& token, std::shared_ptr<ServerExchange> exchange) override {
    const bool asked = request.accept.find("protobuf") != std::string::npos;
    ++(asked ? asked_protobuf : asked_json);
    if (!asked || plain_json) return fake.handle(request, token, std::move(exchange));
    Response head;
    head.status = status;
    head.content_type = "application/vnd.kubernetes.protobuf;stream=watch";
    if (status != 200) {
      head.body = body;
      return exchange->respond(std::move(head));
    }
    exchange->open(std::move(head));
    // In pieces, as from a network.
    for (size_t at = 0; at < body.size(); at += 7) exchange->write(std::string_view(body).substr(at, 7));
    if (!stays_open) exchange->end();
    open = std::move(exchange);
  }

  testing::FakeServer fake;
  std::string body;
  int status = 200;
  bool stays_open = true;
  bool plain_json = false;
  int asked_protobuf = 0, asked_json = 0;
  std::shared_ptr<ServerExchange> open;
};

// Kinds of which protobuf fields beyond the table matter: the informer's own decoders.
std::string slice(const std::string& device_and_more) {
  const std::string meta = field(1, "s") + field(5, "u") + field(6, "7");
  const std::string spec = field(1, "d.example.com") + field(2, field(1, "p")) + field(6, device_and_more);
  return enveloped("resource.k8s.io/v1", "ResourceSlice", field(1, meta) + field(2, spec));
}

std::string claim(const std::string& request_and_more, const std::string& status) {
  const std::string meta = field(1, "c") + field(3, "ns") + field(5, "u") + field(6, "7");
  const std::string spec = field(1, field(1, field(1, "r") + field(2, request_and_more)));
  return enveloped("resource.k8s.io/v1", "ResourceClaim", field(1, meta) + field(2, spec) + field(3, status));
}

TEST(ProtobufInformer, ANumberBeyondTheTableIsReadAsJson) {
  const ObjectType slices = object_type<api::ResourceSlice>(), claims = object_type<api::ResourceClaim>();
  EXPECT_TRUE(slices.decode_protobuf(slice(field(1, "a"))));
  for (const int number : {14, 63, 64, 200, 300, 5000}) {
    const auto one = slices.decode_protobuf(slice(field(1, "a") + field(number, "x")));
    ASSERT_FALSE(one) << number;
    EXPECT_EQ(one.error().message(),
              "object \"s\" has field " + std::to_string(number) + " of Device, which its JSON names");
  }
  // In the table, and not supported.
  EXPECT_FALSE(slices.decode_protobuf(slice(field(1, "a") + field(13, field(1, "cpu") + field(2, "")))));
  EXPECT_TRUE(claims.decode_protobuf(claim(field(1, "gpu"), "")));
  EXPECT_FALSE(claims.decode_protobuf(claim(field(1, "gpu") + field(8, ""), "")));
  // Of a status only the allocation counts, and nothing of a pod. Entries of reservedFor are written back as they are.
  EXPECT_TRUE(claims.decode_protobuf(claim(field(1, "gpu"), field(9, "x") + field(3, field(9, "x")))));
  EXPECT_FALSE(claims.decode_protobuf(claim(field(1, "gpu"), field(2, field(9, "x")))));
  EXPECT_FALSE(claims.decode_protobuf(claim(field(1, "gpu"), field(1, field(9, "x")))));
  const std::string metadata = field(1, "p") + field(3, "ns") + field(5, "u") + field(6, "7");
  // What devices take of the pod's node: 1.37 says it in numbers whose messages are not known.
  const auto taking = [&](const std::string& more) {
    const std::string cpu = field(3, field(1, "cpu") + field(2, field(1, "3")));
    return object_type<api::Pod>().decode_protobuf(
        enveloped("v1", "Pod", field(1, metadata) + field(3, field(21, field(1, "c") + cpu + more))));
  };
  EXPECT_TRUE(taking(""));
  EXPECT_FALSE(taking(field(4, field(1, "cpu"))));
  EXPECT_TRUE(object_type<api::Pod>().decode_protobuf(
      enveloped("v1", "Pod", field(1, metadata + field(90, "x")) + field(2, field(200, "x")) + field(9, "x"))));
}

struct World {
  World() : server(reactor), network(reactor, server) {
    server.fake.put(kPath, "ns", "a", "{}");
    server.fake.put(kPath, "ns", "b", "{}");
  }
  // "uid@revision" of FakeServer's object, as two values.
  std::pair<std::string, std::string> identity(const std::string& name) {
    const std::string text = server.fake.snapshot(kPath).at("ns/" + name);
    return {text.substr(0, text.find('@')), text.substr(text.find('@') + 1)};
  }
  std::string frame(const std::string& type, const std::string& name) {
    const auto [uid, revision] = identity(name);
    return framed(event(type, pod(name, uid, revision)));
  }
  void start() {
    ReflectorOptions options;
    options.resource = kPods;
    informer = std::make_unique<Informer<api::Pod>>(reactor, network, random, std::move(options));
    informer->start();
    reactor.advance(10s);
  }
  std::map<std::string, std::string> shown() {
    std::map<std::string, std::string> out;
    informer->objects().for_each_in_stream(
        [&](const Entry& e) { out[e.key()] = e.uid() + "@" + std::to_string(e.revision); });
    return out;
  }
  void expect_json_and_nothing_lost() {
    EXPECT_FALSE(informer->reflector().protobuf());
    EXPECT_EQ(server.asked_protobuf, 1) << "asked again";
    EXPECT_EQ(shown(), server.fake.snapshot(kPath));
    server.fake.put(kPath, "ns", "later", "{}");
    reactor.advance(1s);
    EXPECT_EQ(shown(), server.fake.snapshot(kPath));
  }

  ManualClock clock;
  SimReactor reactor{clock};
  SeededRandom random{1};
  Server server;
  InProcessTransport network;
  std::unique_ptr<Informer<api::Pod>> informer;
};

TEST(Protobuf, StateAndEvents) {
  World world;
  world.server.body =
      world.frame("ADDED", "a") + world.frame("ADDED", "b") + framed(bookmark(world.server.fake.revision()));
  world.start();
  EXPECT_TRUE(world.informer->reflector().protobuf());
  EXPECT_EQ(world.shown(), world.server.fake.snapshot(kPath));
  world.server.fake.put(kPath, "ns", "a", R"({"metadata":{"labels":{"x":"y"}}})");
  world.server.open->write(world.frame("MODIFIED", "a"));
  world.reactor.advance(1s);
  EXPECT_EQ(world.shown(), world.server.fake.snapshot(kPath));
  EXPECT_EQ(world.server.asked_json, 0);
}

TEST(Protobuf, AVersionThatAnAnswerBroughtIsNotDecodedAgain) {
  World world;
  world.server.body =
      world.frame("ADDED", "a") + world.frame("ADDED", "b") + framed(bookmark(world.server.fake.revision()));
  world.start();
  world.server.fake.put(kPath, "ns", "a", R"({"metadata":{"labels":{"x":"y"}}})");
  const auto [uid, revision] = world.identity("a");
  const auto answered = [&, uid = uid](const std::string& at) {
    api::Pod pod;
    pod.metadata.ns = "ns";
    pod.metadata.name = "a";
    pod.metadata.uid = uid;
    pod.metadata.resource_version = at;
    Entry entry = *make_entry<api::Pod>(std::move(pod));
    world.informer->objects().answer(entry);
    return entry.object<api::Pod>();
  };
  const auto streamed = [&] { return world.informer->objects().find_in_stream("ns/a")->object<api::Pod>(); };
  const auto answer = answered(revision);
  world.server.open->write(world.frame("MODIFIED", "a"));
  world.reactor.advance(1s);
  EXPECT_EQ(streamed(), answer);
  EXPECT_EQ(world.informer->objects().answers(), 0u) << "the stream has reached it";
  EXPECT_EQ(world.shown(), world.server.fake.snapshot(kPath));

  // Another version, and another object of the same name and version.
  const auto newer = answered(std::to_string(world.server.fake.revision() + 5));
  world.server.fake.put(kPath, "ns", "a", "{}");
  world.server.open->write(world.frame("MODIFIED", "a"));
  world.reactor.advance(1s);
  EXPECT_NE(streamed(), newer);
  EXPECT_EQ(world.shown(), world.server.fake.snapshot(kPath));
  world.server.open->write(framed(event("MODIFIED", pod("a", "another", newer->metadata.resource_version))));
  world.reactor.advance(1s);
  EXPECT_EQ(streamed()->metadata.uid, "another");
}

TEST(Protobuf, AStateThatIsReadAgainIsDecodedOnlyWhereItIsNew) {
  World world;
  const auto [uid, revision] = world.identity("a");
  const auto labelled = [&, uid = uid, revision = revision](const std::string& value) {
    const std::string label = field(11, field(1, "x") + field(2, value));
    return framed(event(
        "ADDED",
        enveloped("v1", "Pod", field(1, field(1, "a") + field(3, "ns") + field(5, uid) + field(6, revision) + label))));
  };
  const auto label = [&] {
    return world.informer->objects().find_in_stream("ns/a")->object<api::Pod>()->metadata.labels.at("x");
  };
  const uint64_t now = world.server.fake.revision();
  const auto read = [&](const std::string& a, uint64_t at) {
    world.server.body = a + world.frame("ADDED", "b") + framed(bookmark(at));
  };
  read(labelled("first"), now + 10);
  world.start();
  EXPECT_EQ(label(), "first");
  // The same version says something else: whoever decodes it sees that.
  read(labelled("second"), now + 20);
  int refreshed = 0;
  world.informer->reflector().refresh([&] { ++refreshed; });
  world.reactor.advance(10s);
  EXPECT_EQ(refreshed, 1);
  EXPECT_EQ(label(), "first") << "decoded again";
  // Except after a rewound history: that state is read once more, whole.
  const uint64_t lists = world.informer->reflector().stats().lists;
  read(labelled("third"), now + 5);
  world.informer->reflector().refresh([&] { ++refreshed; });
  world.reactor.advance(10s);
  EXPECT_EQ(refreshed, 2);
  EXPECT_EQ(label(), "third");
  EXPECT_EQ(world.informer->objects().stream_revision(), now + 5);
  EXPECT_EQ(world.informer->objects().rewinds(), 1u);
  EXPECT_EQ(world.informer->reflector().stats().lists, lists + 1);
}

TEST(Protobuf, AServerThatAnswersInJson) {
  World world;
  world.server.plain_json = true;
  world.start();
  world.expect_json_and_nothing_lost();
}

TEST(Protobuf, AServerThatRefusesIt) {
  for (const int status : {406, 415}) {
    World world;
    world.server.status = status;
    world.start();
    world.expect_json_and_nothing_lost();
  }
}

TEST(Protobuf, BrokenStatesAreReadInJson) {
  std::string deep = "x";
  for (int i = 0; i < 100'000; ++i) deep = field(2, deep.substr(0, 1000));
  const std::string lease = enveloped("coordination.k8s.io/v1", "Lease", "");
  const std::string bodies[] = {
      std::string("\xff\xff\xff\xff", 4),                                    // longer than the bound
      std::string("\x00\x00\x00\x04zzzz", 8),                                // not a message
      framed(event("ADDED", "{}")),                                          // no envelope
      framed(event("ADDED", lease)),                                         // another kind
      framed(event("ADDED", enveloped("v9", "Pod", ""))),                    // a version without a table
      framed(event("ADDED", enveloped("v1", "Pod", field(1, "\x0a\x7f")))),  // a wrong length
      framed(event("ADDED", enveloped("v1", "Pod", field(1, field(1, "a")) + field(2, deep) + "\x12"))),
      framed(event("ADDED", pod("a", "u", "no number"))),
      framed(event("BOOKMARK", enveloped("v1", "Pod", ""))),
      framed(event("RENAMED", pod("a", "u", "1"))),
      framed(event("ERROR", lease)),
  };
  for (const std::string& body : bodies) {
    SCOPED_TRACE(body.substr(0, 60));
    World world;
    world.server.body = body;
    world.start();
    world.expect_json_and_nothing_lost();
  }
}

TEST(Protobuf, AStreamThatEndsInsideAFrame) {
  World world;
  world.server.body = world.frame("ADDED", "a").substr(0, 20);
  world.server.stays_open = false;
  world.start();
  world.expect_json_and_nothing_lost();
}

TEST(Protobuf, ABrokenEventComesAgainInJson) {
  World world;
  world.server.body =
      world.frame("ADDED", "a") + world.frame("ADDED", "b") + framed(bookmark(world.server.fake.revision()));
  world.start();
  world.server.fake.put(kPath, "ns", "c", "{}");
  std::string broken = world.frame("ADDED", "c");
  broken[broken.size() - 3] = '\x7f';
  world.server.open->write(broken);
  world.reactor.advance(10s);
  world.expect_json_and_nothing_lost();
  EXPECT_EQ(world.informer->reflector().stats().lists, 1u) << "the watch goes on where it was";
}

TEST(Protobuf, UnknownFieldsAreSkipped) {
  World world;
  const auto [uid, revision] = world.identity("a");
  std::string unknown = field(200, "new") + field(5000, "newer");
  append_varint_field(unknown, 77, 1);
  append_fixed64_field(unknown, 78, 1);
  const std::string metadata = field(1, "a") + field(3, "ns") + field(5, uid) + field(6, revision);
  world.server.body = framed(event("ADDED", enveloped("v1", "Pod", unknown + field(1, metadata + unknown))) + unknown) +
                      world.frame("ADDED", "b") + framed(bookmark(world.server.fake.revision()));
  world.start();
  EXPECT_TRUE(world.informer->reflector().protobuf());
  EXPECT_EQ(world.shown(), world.server.fake.snapshot(kPath));
}

TEST(Protobuf, AnErrorEventSaysWhatItIs) {
  World world;
  std::string status = field(2, "Failure") + field(3, "too old resource version") + field(4, "Expired");
  append_varint_field(status, 6, 410);
  world.server.body = framed(event("ERROR", enveloped("v1", "Status", status)));
  world.start();
  EXPECT_GT(world.informer->reflector().stats().expired, 0u);
  EXPECT_TRUE(world.informer->reflector().protobuf());
}

TEST(FrameSplitter, HoweverTheBytesAreCut) {
  const std::string stream = framed("one") + framed("") + framed(std::string(300, 'x')) + framed("four");
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameSplitter splitter(300);
    std::vector<std::string> frames;
    for (size_t at = 0; at < stream.size(); at += piece)
      ASSERT_TRUE(splitter.feed(std::string_view(stream).substr(at, piece), [&](std::string_view frame) {
        frames.emplace_back(frame);
        return true;
      }));
    EXPECT_EQ(frames, (std::vector<std::string>{"one", "", std::string(300, 'x'), "four"})) << piece;
    EXPECT_EQ(splitter.rest(), "");
  }
}

TEST(FrameSplitter, ALengthBeyondTheBound) {
  FrameSplitter splitter(2);
  const auto ignore = [](std::string_view) { return true; };
  EXPECT_TRUE(splitter.feed(std::string("\0\0", 2), ignore));
  EXPECT_FALSE(splitter.feed(std::string("\0\3", 2), ignore));
}

}  // namespace dra::client::protobuf_test
