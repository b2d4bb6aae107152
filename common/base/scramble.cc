#include "common/base/scramble.h"

namespace seraph {
namespace {

constexpr Key kFirst = 0xbf58476d1ce4e5b9;
constexpr Key kSecond = 0x94d049bb133111eb;

// The inverse of an odd number modulo 2^64, by Newton's iteration: each round
// doubles the number of right bits, from 3.
constexpr Key Inverse(Key odd) {
  Key inverse = odd;
  for (int round = 0; round < 5; ++round) inverse *= 2 - odd * inverse;
  return inverse;
}

// Undoes x ^= x >> shift.
constexpr Key UndoShift(Key x, int shift) {
  Key result = x;
  for (int done = shift; done < 64; done += shift)
    result = x ^ (result >> shift);
  return result;
}

}  // namespace

Key Scramble(Key key) {
  key = (key ^ (key >> 30)) * kFirst;
  key = (key ^ (key >> 27)) * kSecond;
  return key ^ (key >> 31);
}

Key Unscramble(Key mixed) {
  mixed = UndoShift(mixed, 31) * Inverse(kSecond);
  mixed = UndoShift(mixed, 27) * Inverse(kFirst);
  return UndoShift(mixed, 30);
}

}  // namespace seraph
