#include "pkg/alignment/alignment.h"

#include <gtest/gtest.h>

#include <memory>

#include "pkg/alignment/pod_pairs.h"

namespace dra::alignment {
namespace {

// "limit", ... or "" for a valid text.
std::string kind_of_text(std::string_view annotation, std::string_view text, Place place) {
  const Reading reading = read_entries(annotation, text, place);
  EXPECT_EQ(reading.refusal.has_value(), reading.entries.empty()) << text;
  return reading.refusal ? std::string(kind_name(reading.refusal->kind)) : "";
}
std::string on_claim(std::string_view text) {
  return kind_of_text(kPairsAnnotation, text, Place::kClaim);
}
std::string on_pod(std::string_view text) {
  return kind_of_text(kPairsAnnotation, text, Place::kPod);
}
std::string rails(std::string_view text) {
  return kind_of_text(kRailsAnnotation, text, Place::kPodGroup);
}

std::string repeated(const std::string& text, size_t count, const std::string& between) {
  std::string out = text;
  for (size_t i = 1; i < count; ++i) out += between + text;
  return out;
}
std::string numbered(const std::string& before, size_t count, const std::string& after, const std::string& between) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i > 0 ? between : "") + before + std::to_string(i) + after;
  return out;
}

TEST(Alignment, ReadsEntries) {
  const Reading reading =
      read_entries(kPairsAnnotation, "  gpu*2 +nic  by   example.com/root , cpu+ gpu*32+nic by a.b/c  ", Place::kClaim);
  ASSERT_FALSE(reading.refusal) << reading.refusal->message;
  ASSERT_EQ(reading.entries.size(), 2u);
  EXPECT_EQ(reading.entries[0].terms, (std::vector<Term>{{"", "gpu", 2}, {"", "nic", 1}}));
  EXPECT_EQ(reading.entries[0].attribute, "example.com/root");
  EXPECT_EQ(reading.entries[0].text, "gpu*2 +nic  by   example.com/root");
  EXPECT_EQ(reading.entries[1].terms, (std::vector<Term>{{"", "cpu", 1}, {"", "gpu", 32}, {"", "nic", 1}}));
  const Reading named = read_entries(kRailsAnnotation, "a/b+c/b by x/y", Place::kPod);
  ASSERT_FALSE(named.refusal);
  EXPECT_EQ(named.entries[0].terms, (std::vector<Term>{{"a", "b", 1}, {"c", "b", 1}}));
}

TEST(Alignment, RefusesByKind) {
  EXPECT_EQ(on_claim("gpu+nic by x/y"), "");
  EXPECT_EQ(on_claim("by+by2 by by"), "");  // "by" is a name, too; the domain is judged with the names
  EXPECT_EQ(on_claim("by*2 by x/y"), "");
  for (const char* text : {"",
                           " ",
                           ",",
                           "gpu+nic by x/y,",
                           ",gpu+nic by x/y",
                           "gpu++nic by x/y",
                           "+gpu by x/y",
                           "gpu+ by x/y",
                           "gpu nic by x/y",
                           "gpu+nic BY x/y",
                           "gpu+nic by\tx/y",
                           "gpu+nic\tby x/y",
                           "\tgpu+nic by x/y",
                           "gpu+nic by x/y\n",
                           "gpu+nic by",
                           "gpu+nic by ",
                           "gpu+nicby x/y",
                           "gpu+nic byx/y",
                           "gpu+nic by x/y z",
                           "gpu+nic; nic+gpu by x/y",
                           "gpu by x/y",
                           "gpu*1 by x/y",
                           "gpu*0+nic by x/y",
                           "gpu*02+nic by x/y",
                           "gpu*+nic by x/y",
                           "gpu*2x+nic by x/y",
                           "gpu*-2+nic by x/y",
                           "gpu*2*2+nic by x/y",
                           "gpu *2+nic by x/y",
                           "Gpu+nic by x/y",
                           "g.pu+nic by x/y",
                           "gpu+nic by x/",
                           "gpu+nic by /y",
                           "gpu+nic by x/y/z",
                           "gpu+nic by X/y",
                           "gpu+nic by x/1y",
                           "gpu+nic by x/y-z",
                           "a/b/gpu+nic by x/y",
                           "/gpu+nic by x/y",
                           "gpu/+nic by x/y",
                           "devices/gpu by x/y",
                           "gpu+nic+by x/y"})
    EXPECT_EQ(on_claim(text), "syntax") << text;
  EXPECT_EQ(on_claim("gpu+nic by " + std::string(64, 'x') + "/y"), "syntax");
  EXPECT_EQ(on_claim("gpu+nic by x/" + std::string(33, 'y')), "syntax");
  EXPECT_EQ(on_claim(std::string(64, 'g') + "+nic by x/y"), "syntax");
  EXPECT_EQ(on_claim("gpu+c/nic by x/y"), "place");
  EXPECT_EQ(on_pod("c/gpu+nic by x/y"), "place");
  EXPECT_EQ(rails("nic by x/y"), "place");
  EXPECT_EQ(rails("c/nic by x/y"), "");
  EXPECT_EQ(rails("c/nic*2 by x/y"), "syntax");
  EXPECT_EQ(kind_of_text(kPreferredRailsAnnotation, "c/nic*2 by x/y", Place::kPod), "syntax");
  EXPECT_EQ(kind_of_text(kPreferredRailsAnnotation, "c/nic by x/y", Place::kPod), "");
  EXPECT_EQ(on_claim("gpu+nic*33 by x/y"), "limit");
  EXPECT_EQ(on_claim("gpu*99999999999999999999 by x/y"), "limit");
  EXPECT_EQ(on_claim("gpu+gpu by x/y"), "twice");
  EXPECT_EQ(on_pod("a/gpu+b/gpu by x/y"), "");
  EXPECT_EQ(on_pod("a/gpu*2+a/gpu by x/y"), "twice");
  EXPECT_EQ(on_claim("gpu+nic by x/y, gpu+nic by x/y"), "");  // of pairs an attribute may be named twice
  EXPECT_EQ(rails("c/nic by x/y, c/gpu by x/y"), "twice");
}

TEST(Alignment, TheFirstProblemCounts) {
  const std::string nine = numbered("r", 9, "", "+") + " by x/y";
  EXPECT_EQ(on_claim(nine), "limit");
  EXPECT_EQ(on_claim(numbered("c/r", 9, "", "+") + " by x/y"), "place");
  EXPECT_EQ(on_claim("gpu+c/nic*33 by x/y"), "place");
  EXPECT_EQ(on_claim("gpu+c/nic*033 by x/y"), "syntax");
  EXPECT_EQ(on_claim(nine + ", gpu"), "limit");  // before the syntax of the next entry
  EXPECT_EQ(on_claim("gpu+gpu*33 by x/y"), "limit");
  EXPECT_EQ(on_claim("gpu+gpu by x/y, gpu"), "twice");
  EXPECT_EQ(on_claim(numbered("gpu+nic by x/y", 9, "", ",")), "limit");
  EXPECT_EQ(on_claim(numbered("gpu+nic by x/y", 9, "", ",") + ",gpu"), "syntax");
  EXPECT_EQ(rails(numbered("c/nic by x/y", 8, "", ",")), "");
  EXPECT_EQ(rails(numbered("c/nic by x/y", 8, "", ",") + ", c/nic by x/y0"), "limit");  // and twice
  EXPECT_EQ(rails("c/nic by x/y, c/nic by x/y, c/nic"), "syntax");
  EXPECT_EQ(on_claim("gpu+nic by " + std::string(1024 - 11 - 3, ' ') + "x/y"), "");
  EXPECT_EQ(on_claim("," + std::string(1024, ' ')), "limit");
  EXPECT_EQ(on_claim(repeated("gpu+nic by x/y", 8, " , ")), "");
}

TEST(Alignment, SentencesNameWhatIsWrong) {
  const Reading reading = read_entries(kPairsAnnotation, "gpu+nic by x/y, gpu+nic*02 by x/y", Place::kClaim);
  ASSERT_TRUE(reading.refusal);
  EXPECT_EQ(reading.refusal->part, "gpu+nic*02 by x/y");
  EXPECT_EQ(
      reading.refusal->message,
      "annotation dra-controller-manager/pairs: \"gpu+nic*02 by x/y\": \"nic*02\": the number is not one of 1 to 32 "
      "without leading zeros");
  EXPECT_LE(read_entries(kPairsAnnotation, std::string(5000, 'g'), Place::kClaim).refusal->part.size(), 64u);
}

api::ResourceClaim claim_with(const std::string& name, const std::vector<std::string>& requests,
                              const std::string& pairs = "") {
  api::ResourceClaim claim;
  claim.metadata.name = name;
  for (const std::string& request : requests) {
    claim.spec.requests.emplace_back();
    claim.spec.requests.back().name = request;
  }
  if (!pairs.empty()) claim.metadata.annotations[std::string(kPairsAnnotation)] = pairs;
  return claim;
}

PodPairs pairs_of(const std::string& pod, const std::vector<const api::ResourceClaim*>& claims,
                  const std::vector<ClaimName>& names) {
  api::StringMap annotations;
  if (!pod.empty()) annotations[std::string(kPairsAnnotation)] = pod;
  return read_pod_pairs(annotations, claims, names);
}
std::string kind_of_pod(const std::string& pod, const std::vector<const api::ResourceClaim*>& claims,
                        const std::vector<ClaimName>& names) {
  const PodPairs pairs = pairs_of(pod, claims, names);
  return pairs.refusal ? std::string(kind_name(pairs.refusal->kind)) : "";
}

TEST(Alignment, PodPairsAreNumberedInOrderAndResolved) {
  const api::ResourceClaim a = claim_with("a", {"gpu", "nic"}, "nic+gpu*2 by x/y");
  const api::ResourceClaim b = claim_with("b", {"nic"});
  const PodPairs pairs = pairs_of("left/gpu+right/nic by z/w", {&a, &b}, {{"left", 0}, {"right", 1}});
  ASSERT_FALSE(pairs.refusal) << pairs.refusal->message;
  ASSERT_EQ(pairs.entries.size(), 2u);
  EXPECT_EQ(pairs.entries[0].terms, (std::vector<PairTerm>{{0, 1, 1}, {0, 0, 2}}));
  EXPECT_EQ(pairs.entries[1].terms, (std::vector<PairTerm>{{0, 0, 1}, {1, 0, 1}}));
  EXPECT_EQ(pairs.entries[1].attribute, "z/w");
}

TEST(Alignment, NamesAreJudgedAfterAllTexts) {
  const api::ResourceClaim a = claim_with("a", {"gpu", "nic"}, "gpu+fpga by x/y");
  const api::ResourceClaim b = claim_with("b", {"nic"}, "nic by x/y");
  EXPECT_EQ(kind_of_pod("", {&a}, {{"a", 0}}), "unknown");
  EXPECT_EQ(kind_of_pod("", {&a, &b}, {{"a", 0}, {"b", 1}}), "syntax");
  EXPECT_EQ(kind_of_pod("a/gpu+nic by x/y", {&a}, {{"a", 0}}), "place");
  const PodPairs pairs = pairs_of("", {&a}, {{"a", 0}});
  EXPECT_EQ(pairs.refused_claim, 0u);
  EXPECT_EQ(
      pairs.refusal->message,
      "annotation dra-controller-manager/pairs: \"gpu+fpga by x/y\": names request \"fpga\", which the claim does not "
      "have (there are gpu, nic)");
  const api::ResourceClaim c = claim_with("c", {"gpu", "nic"});
  EXPECT_EQ(kind_of_pod("a/gpu+again/gpu by y", {&c}, {{"a", 0}, {"again", 0}}), "twice");
  EXPECT_EQ(kind_of_pod("a/gpu+again/nic by y", {&c}, {{"a", 0}, {"again", 0}}), "attribute");
  EXPECT_EQ(kind_of_pod("a/gpu+again/nic by x/y", {&c}, {{"a", 0}, {"again", 0}}), "");
  EXPECT_EQ(kind_of_pod("a/gpu+c/gpu by x/y", {&c}, {{"a", 0}}), "unknown");  // the object's name is not the pod's
}

TEST(Alignment, EightEntriesArePossibleForAPodAndItsClaims) {
  const std::string four = repeated("gpu+nic by x/y", 4, ",");
  const api::ResourceClaim a = claim_with("a", {"gpu", "nic"}, four);
  const api::ResourceClaim b = claim_with("b", {"gpu", "nic"}, four);
  EXPECT_EQ(pairs_of("", {&a, &b}, {}).entries.size(), 8u);
  EXPECT_EQ(kind_of_pod("a/gpu+a/nic by x/y", {&a, &b}, {{"a", 0}}), "limit");
  EXPECT_EQ(kind_of_pod("a/gpu+a/nic by x/y, a/gpu", {&a, &b}, {{"a", 0}}), "syntax");
}

TEST(Alignment, AnAllocatedClaimIsNotJudgedAgain) {
  api::ResourceClaim a = claim_with("a", {"gpu", "nic"}, "gpu");
  EXPECT_EQ(kind_of_pod("", {&a}, {{"a", 0}}), "syntax");
  a.status.allocation.emplace();
  EXPECT_EQ(kind_of_pod("", {&a}, {{"a", 0}}), "");
  EXPECT_EQ(pairs_of("a/gpu+a/nic by x/y", {&a}, {{"a", 0}}).entries.size(), 1u);
}

}  // namespace
}  // namespace dra::alignment
