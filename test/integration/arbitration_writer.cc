#include "test/integration/arbitration_writer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "pkg/protocol/groups.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/users.h"

namespace dra::integration {
namespace {

template <typename T>
client::Entry entry_of(const std::shared_ptr<const T>& object) {
  const api::ObjectMeta& meta = object->metadata;
  return {object, meta, client::parse_revision(meta.resource_version).value_or(0)};
}

lifecycle::Options quick_lifecycle() {
  lifecycle::Options options;
  options.sweep_after = std::chrono::seconds(10);
  return options;
}

allocation::Options options_of(const ArbitrationOptions& model) {
  allocation::Options options;
  options.prove_rails = model.without != Without::kRails;
  if (!model.bind) return options;
  options.mode = reconcile::Scheduling::kBind;
  options.scheduler_names = {ArbitrationModel::kSchedulerName};
  return options;
}

}  // namespace

ModelWriter::ModelWriter(ArbitrationModel& model)
    : model_(model),
      pods_(pods_core_),
      claims_(claims_core_),
      templates_(templates_core_),
      known_nodes_(nodes_core_),
      classes_(classes_core_),
      slices_(slices_core_),
      stores_{&pods_, &claims_, &templates_, &known_nodes_, &classes_, &slices_, nullptr, this},
      random_(model.random_.next()),
      allocator_(inventory_, {}, random_),
      nodes_(model.clock_),
      assumptions_(inventory_, nodes_, stores_),
      view_(stores_, memory_, model.clock_, "resource.k8s.io/v1"),
      runner_(model.reactor_, view_, memory_, {*this, *this, *this, assumptions_}) {
  manager::add_indexes(stores_);
  inventory_.apply_class(model_.class_);
  const auto known = std::make_shared<const api::DeviceClass>(model_.class_);
  classes_core_.replace({{known->metadata.key(), client::Entry(known, known->metadata, 1)}}, 1);
  seen_nodes_ = model_.nodes_;
  seen_groups_.insert(model_.pod_groups_.begin(), model_.pod_groups_.end());
  for (const auto& node : model_.nodes_) {
    nodes_.set_node(node);
    inventory_.apply_node(node);
  }
  for (const api::ResourceSlice& slice : model_.slices_) inventory_.apply_slice(slice);
  runner_.add(allocation::parts(options_of(model.options_), inventory_, allocator_, nodes_));
  runner_.add(lifecycle::parts(quick_lifecycle()));
  listen();
  runner_.start();
  relist();
}

// The wiring of Manager's stores.
void ModelWriter::listen() {
  pods_.on_stream_change([this](const client::Change<api::Pod>& c) {
    if (c.before && !c.after) memory_.gone_uids.put(c.before->metadata.uid, true);
  });
  pods_.on_change([this](const client::Change<api::Pod>& c) {
    if (c.after)
      nodes_.set_pod(*c.after);
    else
      nodes_.remove_pod(c.before->metadata.uid);
    runner_.changed(reconcile::Changed<api::Pod>{c.before.get(), c.after.get()});
  });
  claims_.on_stream_change([this](const client::Change<api::ResourceClaim>& c) {
    if (c.after) {
      inventory_.apply_claim(*c.after);
    } else {
      inventory_.remove_claim(c.before->metadata.uid);
      assumptions_.claim_gone(c.before->metadata.uid);
    }
    runner_.changed(reconcile::StreamedClaim{c.before.get(), c.after.get()});
  });
  claims_core_.on_progress([this](uint64_t revision) { assumptions_.claims_reached(revision); });
  claims_.on_change([this](const client::Change<api::ResourceClaim>& c) {
    const std::string key = reconcile::to_text(reconcile::claim_key((c.after ? c.after : c.before)->metadata.key()));
    if (c.after)
      memory_.changed_at.put(key, model_.clock_.mono_now());
    else
      memory_.changed_at.erase(key);
    runner_.changed(reconcile::Changed<api::ResourceClaim>{c.before.get(), c.after.get()});
  });
}

std::shared_ptr<const api::Pod> ModelWriter::as_seen(const std::shared_ptr<const api::Pod>& pod) const {
  if (!pod || model_.options_.without != Without::kHeeding || announced_.contains(pod->metadata.uid)) return pod;
  auto unaware = std::make_shared<api::Pod>(*pod);
  unaware->metadata.annotations.erase(std::string(protocol::kLeavingAnnotation));
  return unaware;
}

// Applies one event of a table to a store, as the watch would.
template <typename Table>
bool ModelWriter::deliver_next(const Table& table, client::ObjectStore& store) {
  for (const auto& event : table.log) {
    if (event.revision <= store.stream_revision()) continue;
    if (event.after) {
      store.apply(entry_of(as_seen(event.after)));
    } else {
      client::Entry last = entry_of(event.before);
      last.revision = event.revision;
      store.remove(last);
    }
    return true;
  }
  return false;
}

template <typename Table>
void ModelWriter::list_into(const Table& table, client::ObjectStore& store, uint64_t revision) {
  client::ObjectStore::Objects state;
  for (const auto& [key, object] : table.objects) {
    client::Entry entry = entry_of(as_seen(object));
    state.insert_or_assign(entry.key(), std::move(entry));
  }
  store.replace(std::move(state), revision);
}

void ModelWriter::relist() {
  list_into(model_.pods_, pods_core_, model_.revision_);
  list_into(model_.claims_, claims_core_, model_.revision_);
}

bool ModelWriter::deliver_pod() {
  if (pods_core_.stream_revision() < model_.pods_.floor) return relist(), true;
  return deliver_next(model_.pods_, pods_core_);
}

bool ModelWriter::deliver_claim() {
  if (claims_core_.stream_revision() < model_.claims_.floor) return relist(), true;
  return deliver_next(model_.claims_, claims_core_);
}

bool ModelWriter::deliver_node() {
  for (size_t i = 0; i < seen_nodes_.size(); ++i) {
    if (seen_nodes_[i] == model_.nodes_[i]) continue;
    const auto before = std::exchange(seen_nodes_[i], model_.nodes_[i]);
    nodes_.set_node(seen_nodes_[i]);
    runner_.changed(reconcile::Changed<api::Node>{before.get(), seen_nodes_[i].get()});
    return true;
  }
  return false;
}

const api::PodGroup* ModelWriter::find(reconcile::GroupApi api, std::string_view key) const {
  const auto found = seen_groups_.find(key);
  return api != reconcile::GroupApi::kCore || found == seen_groups_.end() ? nullptr : found->second.get();
}

bool ModelWriter::deliver_group() {
  const auto now = [&](const std::string& key) {
    const auto known = model_.pod_groups_.find(key);
    return known == model_.pod_groups_.end() ? nullptr : known->second;
  };
  std::set<std::string> keys;
  for (const auto& [key, group] : seen_groups_) keys.insert(key);
  for (const auto& [key, group] : model_.pod_groups_) keys.insert(key);
  for (const std::string& key : keys) {
    const auto known = seen_groups_.find(key);
    const auto group = now(key);
    if ((known == seen_groups_.end() ? nullptr : known->second) == group) continue;
    if (group)
      seen_groups_[key] = group;
    else
      seen_groups_.erase(key);
    const std::string changed = protocol::group_key(reconcile::GroupApi::kCore, key);
    runner_.changed(reconcile::GroupChanged{changed});
    return true;
  }
  return false;
}

void ModelWriter::perform(const reconcile::Write& write, std::function<void(Result<uint64_t>)> done) {
  const bool private_mark = !model_.options_.durable_proof && (write.purpose == "prove" || write.purpose == "enlist");
  const bool private_list = !model_.options_.durable_users && write.purpose == "enlist";
  if (private_mark || private_list) {
    // P3, or the list of users, without the write of the claim: this writer's private knowledge.
    if (auto known = claims_.get(write.object.store_key()); known && known->status.allocation) {
      auto marked = std::make_shared<api::ResourceClaim>(*known);
      marked->metadata.resource_version = std::to_string(++model_.revision_);
      const auto metadata = nlohmann::json::parse(write.body)["metadata"];
      if (metadata["finalizers"].is_array())
        marked->metadata.finalizers = metadata["finalizers"].get<std::vector<std::string>>();
      for (const auto& [name, value] : metadata["annotations"].items())
        marked->metadata.annotations[name] = value.get<std::string>();
      answers_.push_back({{model_.revision_, marked, nullptr}, std::move(done)});
      return;
    }
  }
  if (!model_.options_.durable_leaving && write.purpose == "announce-leaving") {
    // P8 without the write of the pod: the announcement is this writer's private knowledge.
    if (auto known = pods_.get(write.object.store_key())) {
      auto leaving = std::make_shared<api::Pod>(*known);
      leaving->metadata.resource_version = std::to_string(++model_.revision_);
      leaving->metadata.annotations[std::string(protocol::kLeavingAnnotation)] =
          nlohmann::json::parse(write.body)["metadata"]["annotations"][protocol::kLeavingAnnotation].get<std::string>();
      answers_.push_back({{model_.revision_, nullptr, leaving}, std::move(done)});
      return;
    }
  }
  if (write.purpose == "announce-unbound") announced_.insert(write.object.uid);
  requests_.push_back({model_.options_.without == Without::kOrder ? in_one_write(write) : write, std::move(done),
                       pods_core_.stream_revision()});
}

reconcile::Write ModelWriter::in_one_write(reconcile::Write write) const {
  const auto claim = model_.claims_.objects.find(write.object.store_key());
  if (write.purpose != "leave-unbound" || claim == model_.claims_.objects.end()) return write;
  nlohmann::json body = nlohmann::json::parse(write.body);
  if (!body["status"]["reservedFor"].is_null() || body["status"].contains("allocation")) return write;
  // The live GETs, before the write.
  for (const protocol::User& user : protocol::users_of(*claim->second)) {
    const auto pod = model_.pods_.objects.find("d/" + user.name);
    if (!user.left || (pod != model_.pods_.objects.end() && !pod->second->node_name.empty())) return write;
  }
  body["status"]["allocation"] = nullptr;
  write.body = body.dump();
  return write;
}

void ModelWriter::get(const reconcile::Ref& object, std::function<void(Result<reconcile::Presence>)> done) {
  const std::string key = object.store_key();
  const bool pod = object.kind == reconcile::Kind::kPod;
  client::ObjectStore& store = pod ? pods_core_ : claims_core_;
  std::string known_uid = object.uid;
  if (const client::Entry* known = store.find(key); known_uid.empty() && known) known_uid = known->uid();
  ArbitrationModel::Applied found;
  std::string uid;
  if (pod && model_.pods_.objects.contains(key)) {
    found.pod = model_.pods_.objects.at(key);
    uid = found.pod->metadata.uid;
  } else if (!pod && model_.claims_.objects.contains(key)) {
    found.claim = model_.claims_.objects.at(key);
    uid = found.claim->metadata.uid;
  }
  const bool present = !uid.empty() && (object.uid.empty() || uid == object.uid);
  if (const auto known = pods_.get(key);
      pod && model_.options_.without == Without::kGet && known && known->metadata.uid == object.uid) {
    // Its view of the pod has to do.
    answers_.push_back({{}, [done](const Result<uint64_t>&) { done(reconcile::Presence::kPresent); }});
    return;
  }
  answers_.push_back({std::move(found), [alive = std::weak_ptr<bool>(alive_), &store, key, known_uid, uid, present,
                                         done](const Result<uint64_t>& answer) {
                        if (alive.expired()) return;
                        if (!answer) return done(fail(answer.error()));
                        if (!known_uid.empty() && known_uid != uid) store.answer_absent(key, known_uid);
                        done(present ? reconcile::Presence::kPresent : reconcile::Presence::kAbsent);
                      }});
}

bool ModelWriter::send_one(size_t which, bool lose) {
  if (requests_.empty()) return false;
  const auto at = requests_.begin() + static_cast<long>(which % requests_.size());
  // Others do a lot while a Binding is under way.
  if (at->write.subresource == "binding" && model_.random_.below(4) != 0) return true;
  Request request = std::move(*at);
  requests_.erase(at);
  if (lose)
    answers_.push_back(
        {{fail(Code::kUnavailable, "connection reset by peer"), nullptr, nullptr}, std::move(request.done)});
  else
    answers_.push_back({model_.apply(request.write, request.seen), std::move(request.done)});
  return true;
}

void ModelWriter::feed(const ArbitrationModel::Applied& applied) {
  if (applied.claim) claims_core_.answer(entry_of(applied.claim));
  if (applied.pod) pods_core_.answer(entry_of(as_seen(applied.pod)));
}

bool ModelWriter::answer_one(size_t which, bool lose) {
  if (answers_.empty()) return false;
  const auto at = answers_.begin() + static_cast<long>(which % answers_.size());
  Answer answer = std::move(*at);
  answers_.erase(at);
  if (lose) {
    answer.done(fail(Code::kUnavailable, "connection reset by peer"));
    return true;
  }
  feed(answer.applied);
  answer.done(answer.applied.answer);
  return true;
}

}  // namespace dra::integration
