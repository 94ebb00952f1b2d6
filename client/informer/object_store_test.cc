#include "client/informer/object_store.h"

#include <gtest/gtest.h>

#include <optional>

#include "client/informer/store.h"
#include "pkg/base/check.h"
#include "pkg/base/random.h"

namespace dra::client::object_store_test {

// Formats as "X@10", uid and revision; "-" for none.
std::string show(const Entry* entry) {
  return entry == nullptr ? "-" : entry->uid() + "@" + std::to_string(entry->revision);
}

Entry entry(const std::string& name, const std::string& uid, uint64_t revision) {
  api::ObjectMeta meta;
  meta.ns = "ns";
  meta.name = name;
  meta.uid = uid;
  return Entry(std::move(meta), revision);
}

ObjectStore::Objects objects(const std::vector<Entry>& entries) {
  ObjectStore::Objects found;
  for (const Entry& entry : entries) found.insert_or_assign(entry.key(), entry);
  return found;
}

TEST(ObjectStore, AnswersLieOverTheStreamUntilItReachesThem) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 5)}), 8);
  store.answer(entry("a", "A", 10));
  EXPECT_EQ(show(store.find("ns/a")), "A@10");
  EXPECT_EQ(show(store.find_in_stream("ns/a")), "A@5");
  store.answer(entry("a", "A", 9));  // older than an answer already known
  EXPECT_EQ(show(store.find("ns/a")), "A@10");
  store.apply(entry("b", "B", 9));
  EXPECT_EQ(store.answers(), 1u);
  store.apply(entry("a", "A", 10));
  EXPECT_EQ(store.answers(), 0u);
  store.answer(entry("a", "A", 10));  // at R: dropped
  EXPECT_EQ(store.answers(), 0u);
  EXPECT_EQ(show(store.find("ns/a")), "A@10");
}

TEST(ObjectStore, ARewoundHistoryIsCounted) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 5)}), 8);
  store.replace(objects({entry("a", "A", 5)}), 9);
  EXPECT_EQ(store.rewinds(), 0u);
  store.replace(objects({entry("a", "A", 5)}), 7);
  EXPECT_EQ(store.rewinds(), 1u);
}

TEST(ObjectStore, AnAnswerTheStreamPassedByDies) {
  ObjectStore store;
  store.replace({}, 8);
  store.answer(entry("a", "A", 10));
  store.bookmark(11);  // the stream never delivers it (because of a selector, say)
  EXPECT_EQ(show(store.find("ns/a")), "-");
}

TEST(ObjectStore, AnswersBelowTheStreamDoNotRaiseTheDead) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 5)}), 8);
  store.remove(entry("a", "A", 12));
  store.answer(entry("a", "A", 11));  // arrives late
  EXPECT_EQ(show(store.find("ns/a")), "-");
}

TEST(ObjectStore, ConfirmedAbsenceHidesOneUidUntilItsDeletionWasStreamed) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 5)}), 8);
  store.answer(entry("a", "A", 10));
  store.answer_absent("ns/a", "A");
  EXPECT_EQ(show(store.find("ns/a")), "-");
  EXPECT_EQ(show(store.find_in_stream("ns/a")), "A@5");
  store.answer(entry("a", "A", 11));  // a late answer about the deleted instance
  EXPECT_EQ(show(store.find("ns/a")), "-");
  store.apply(entry("a", "A", 10));  // the stream is behind
  EXPECT_EQ(show(store.find("ns/a")), "-");
  store.answer(entry("a", "B", 14));  // a successor is visible at once
  EXPECT_EQ(show(store.find("ns/a")), "B@14");
  store.remove(entry("a", "A", 13));
  store.apply(entry("a", "B", 14));
  EXPECT_EQ(show(store.find("ns/a")), "B@14");
  EXPECT_EQ(store.answers(), 0u);
}

TEST(ObjectStore, AbsenceOfAnAnswerTheStreamHasNotSeenSurvivesItsLateArrival) {
  ObjectStore store;
  store.replace({}, 8);
  store.answer(entry("a", "A", 10));
  store.answer_absent("ns/a", "A");
  store.apply(entry("a", "A", 10));
  EXPECT_EQ(show(store.find("ns/a")), "-");
  store.remove(entry("a", "A", 11));
  EXPECT_EQ(store.answers(), 0u);
}

TEST(ObjectStore, SameNameNewUidIsADeletionAndAnAddition) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 5)}), 8);
  std::string log;
  store.on_change([&](const EntryChange& c) { log += show(c.before) + ">" + show(c.after) + " "; });
  log.clear();
  store.replace(objects({entry("a", "B", 9)}), 9);
  EXPECT_EQ(log, "A@5>- ->B@9 ");
  log.clear();
  store.answer(entry("a", "C", 20));
  store.apply(entry("a", "C", 20));  // handlers see nothing new
  EXPECT_EQ(log, "B@9>- ->C@20 ");
}

TEST(ObjectStore, RewoundHistoryForgetsAnswers) {
  ObjectStore store;
  store.replace(objects({entry("a", "A", 50)}), 80);
  store.answer(entry("a", "A", 90));
  store.replace(objects({entry("a", "A", 5)}), 10);
  EXPECT_EQ(show(store.find("ns/a")), "A@5");
  EXPECT_EQ(store.stream_revision(), 10u);
}

TEST(ObjectStore, HandlersMayReadButNotWrite) {
  ObjectStore store;
  store.replace({}, 1);
  store.on_change([&](const EntryChange& c) {
    EXPECT_EQ(show(store.find("ns/a")), show(c.after));
    EXPECT_EQ(store.stream_revision(), 2u);
    store.bookmark(9);
  });
  EXPECT_THROW(store.apply(entry("a", "A", 2)), CheckFailed);
}

// A server's history of objects (create, change, delete, recreate), a stream that delivers a prefix of it with repeats
// and relists, and answers that are true for some moment. Compared with the laws as a model.
TEST(ObjectStore, AFirstListMayComeObjectByObject) {
  ObjectStore store;
  std::vector<std::string> seen;
  store.on_stream_change(
      [&](const EntryChange& c) { seen.push_back((c.after ? "+" : "-") + (c.after ? c.after : c.before)->name()); });
  for (const char* name : {"a", "b", "c"}) store.fill(entry(name, name, 5));
  EXPECT_FALSE(store.synced());
  EXPECT_EQ(store.stream_revision(), 0u);
  EXPECT_EQ(seen, (std::vector<std::string>{"+a", "+b", "+c"}));
  seen.clear();
  // The list broke off and was read again: b is gone, c is newer.
  const std::string* kept = &store.find_in_stream("ns/a")->uid();
  const auto unneeded = store.replace(objects({entry("a", "a", 5), entry("c", "c", 6), entry("d", "d", 7)}), 8);
  EXPECT_TRUE(store.synced());
  EXPECT_EQ(seen, (std::vector<std::string>{"-b", "+c", "+d"}));
  EXPECT_EQ(unneeded.size(), 1u) << "a has not changed";
  EXPECT_EQ(&store.find_in_stream("ns/a")->uid(), kept);
  EXPECT_EQ(store.find_in_stream("ns/b"), nullptr);
}

TEST(ObjectStore, LawsHoldForRandomInterleavings) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    struct Step {
      uint64_t revision;
      std::string name;
      std::optional<Entry> state;  // none: deleted
      Entry last;                  // what a DELETED event carries
    };
    std::vector<Step> history;
    std::map<std::string, Entry> now;
    uint64_t revision = 1;
    int uids = 0;
    for (int i = 0; i < 60; ++i) {
      revision += 1 + random.below(3);
      std::string name(1, static_cast<char>('a' + random.below(4)));
      auto it = now.find(name);
      if (it == now.end()) {
        now.insert_or_assign(name, entry(name, "u" + std::to_string(uids++), revision));
      } else if (random.below(3) == 0) {
        Entry last = it->second;
        last.revision = revision;
        now.erase(it);
        history.push_back({revision, name, std::nullopt, last});
        continue;
      } else {
        it->second.revision = revision;
      }
      history.push_back({revision, name, now.at(name), now.at(name)});
    }
    auto state_at = [&](uint64_t at) {
      std::map<std::string, Entry> state;
      for (const Step& step : history) {
        if (step.revision > at) break;
        step.state ? void(state.insert_or_assign(step.name, *step.state)) : void(state.erase(step.name));
      }
      return state;
    };

    ObjectStore store;
    std::map<std::string, std::string> mirror;         // as reported to handlers, combined view
    std::map<std::string, std::string> stream_mirror;  // as reported to handlers, stream layer
    auto follow = [](std::map<std::string, std::string>& m, const EntryChange& c) {
      const Entry& e = c.after ? *c.after : *c.before;
      if (c.before) {
        ASSERT_EQ(m[e.name()], show(c.before));
        m.erase(e.name());
      } else {
        ASSERT_EQ(m.count(e.name()), 0u);
      }
      if (c.before && c.after) {
        ASSERT_EQ(c.before->uid(), c.after->uid());
      }
      if (c.after) m[e.name()] = show(c.after);
    };
    store.on_change([&](const EntryChange& c) { follow(mirror, c); });
    store.on_stream_change([&](const EntryChange& c) { follow(stream_mirror, c); });
    store.add_index("uid", [](const Entry& e) { return std::vector<std::string>{e.uid()}; });
    store.replace({}, 1);
    uint64_t at = 1;
    size_t next = 0;
    std::map<std::string, Entry> answered;  // newest answer by name
    std::set<std::string> gone;             // uids found absent
    for (int i = 0; i < 300; ++i) {
      switch (random.below(6)) {
        case 0:
        case 1:  // the next event
          if (next < history.size()) {
            const Step& step = history[next++];
            EXPECT_TRUE(step.state ? store.apply(*step.state) : store.remove(step.last));
            at = step.revision;
          }
          break;
        case 2:  // a repeat
          if (next > 0) {
            const Step& step = history[random.below(next)];
            EXPECT_FALSE(step.state ? store.apply(*step.state) : store.remove(step.last));
          }
          break;
        case 3: {  // a relist at or after the present revision
          size_t to = next + random.below(history.size() - next + 1);
          if (to == 0) break;
          next = to;
          at = history[to - 1].revision;
          std::vector<Entry> list;
          for (auto& [name, e] : state_at(at)) list.push_back(e);
          store.replace(objects(list), at);
          break;
        }
        case 4: {  // an answer about any moment
          const Step& step = history[random.below(history.size())];
          if (!step.state) break;
          store.answer(*step.state);
          auto known = answered.find(step.name);
          if (step.revision > at && gone.count(step.state->uid()) == 0 &&
              (known == answered.end() || known->second.revision < step.revision)) {
            answered.insert_or_assign(step.name, *step.state);
          }
          break;
        }
        case 5: {  // a live GET finds the instance gone: possible only for instances that are gone at the end of
                   // history
          const Step& step = history[random.below(history.size())];
          if (step.state) break;
          auto shown = store.find("ns/" + step.name);
          store.answer_absent("ns/" + step.name, step.last.uid());
          if (shown != nullptr && shown->uid() == step.last.uid()) gone.insert(step.last.uid());
          auto known = answered.find(step.name);
          if (known != answered.end() && known->second.uid() == step.last.uid()) answered.erase(known);
          break;
        }
      }
      for (auto it = answered.begin(); it != answered.end();) {
        it = it->second.revision <= at ? answered.erase(it) : std::next(it);
      }
      auto truth = state_at(at);
      for (char c = 'a'; c < 'e'; ++c) {
        std::string name(1, c);
        auto streamed = truth.find(name);
        ASSERT_EQ(show(store.find_in_stream("ns/" + name)), streamed == truth.end() ? "-" : show(&streamed->second));
        const Entry* expected = streamed == truth.end() ? nullptr : &streamed->second;
        if (auto a = answered.find(name); a != answered.end()) expected = &a->second;
        const Entry* got = store.find("ns/" + name);
        if (expected != nullptr && gone.count(expected->uid()) > 0) {
          ASSERT_EQ(show(got), "-");
          expected = nullptr;
        }
        ASSERT_EQ(show(got), show(expected));
        ASSERT_EQ(mirror.count(name) ? mirror[name] : "-", show(got));
        ASSERT_EQ(stream_mirror.count(name) ? stream_mirror[name] : "-", show(store.find_in_stream("ns/" + name)));
        if (got != nullptr) {
          auto indexed = store.by_index("uid", got->uid());
          ASSERT_EQ(indexed.size(), 1u);
          ASSERT_EQ(indexed[0], got);
        }
      }
      ASSERT_EQ(store.stream_revision(), at);
      std::vector<const Entry*> whole, portions;
      store.for_each([&](const Entry& entry) { whole.push_back(&entry); });
      for (std::string last; true; last = portions.back()->key()) {
        const std::vector<const Entry*> portion = store.after(last, 2);
        portions.insert(portions.end(), portion.begin(), portion.end());
        if (portion.size() < 2) break;
      }
      ASSERT_EQ(portions, whole);
      ASSERT_EQ(store.size(), whole.size());
    }
  }
}

}  // namespace dra::client::object_store_test
