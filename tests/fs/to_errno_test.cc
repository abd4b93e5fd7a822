#include "fs/to_errno.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace offsetfs::fs {
namespace {

using storage::Errc;
using storage::Error;

TEST(ToErrnoTest, WhatTheKernelSaidIsPassedOn) {
  EXPECT_EQ(to_errno(Error{Errc::kIo, EACCES, ""}), EACCES);
  EXPECT_EQ(to_errno(Error{Errc::kIo, 0, ""}), EIO);
  EXPECT_TRUE(is_worth_a_line(Error{Errc::kIo, EACCES, ""}));
}

TEST(ToErrnoTest, WhatDoesNotExistIsENOENTAndNobodyIsTold) {
  EXPECT_EQ(to_errno(Error{Errc::kNotFound, 0, ""}), ENOENT);
  EXPECT_FALSE(is_worth_a_line(Error{Errc::kNotFound, 0, ""}));
}

TEST(ToErrnoTest, DamageIsEIOAndWasNamedWhereItWasMet) {
  for (const Errc code : {Errc::kCorrupt, Errc::kUnsupported, Errc::kTooLarge}) {
    EXPECT_EQ(to_errno(Error{code, 0, ""}), EIO);
    EXPECT_FALSE(is_worth_a_line(Error{code, 0, ""}));
  }
}

TEST(ToErrnoTest, WhatWasTruncatedAwayIsStale) {
  EXPECT_EQ(to_errno(Error{Errc::kOutOfRange, 0, ""}), ESTALE);
}

TEST(ToErrnoTest, AnInterruptIsNoTrouble) {
  EXPECT_EQ(to_errno(Error{Errc::kIo, EINTR, ""}), EINTR);
  EXPECT_FALSE(is_worth_a_line(Error{Errc::kIo, EINTR, ""}));
}

}  // namespace
}  // namespace offsetfs::fs
