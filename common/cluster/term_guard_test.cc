#include "common/cluster/term_guard.h"

#include <string>

#include "gtest/gtest.h"

namespace seraph {
namespace {

TEST(TermGuard, EqualAndHigherTermsAreAdmitted) {
  TermGuard guard;
  EXPECT_EQ(guard.highest(), 0);
  EXPECT_TRUE(guard.Admit(3).ok());
  EXPECT_TRUE(guard.Admit(3).ok());
  EXPECT_TRUE(guard.Admit(7).ok());
  EXPECT_EQ(guard.highest(), 7);
}

TEST(TermGuard, AnOlderTermIsRefusedWithTheHighest) {
  TermGuard guard;
  EXPECT_TRUE(guard.Admit(7).ok());
  const absl::Status refused = guard.Admit(6);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(refused), "OLD_TERM");
  EXPECT_EQ(ReasonValuesOf(refused).at("term"), "7");
  EXPECT_EQ(guard.highest(), 7);
}

TEST(TermGuard, WhatWasHeardCountsAndNeverGoesBack) {
  TermGuard guard;
  guard.Heard(5);
  guard.Heard(2);
  EXPECT_EQ(guard.highest(), 5);
  EXPECT_EQ(ReasonOf(guard.Admit(4)), "OLD_TERM");
}

}  // namespace
}  // namespace seraph
