// A bijective mix of keys, for sparse tables whose hot keys lie together.
#ifndef SERAPH_COMMON_BASE_SCRAMBLE_H_
#define SERAPH_COMMON_BASE_SCRAMBLE_H_

#include "common/base/key.h"

namespace seraph {

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014): every bit of the key changes
// about half of the bits of the result, and no two keys share a result.
Key Scramble(Key key);

// Unscramble(Scramble(key)) == key.
Key Unscramble(Key mixed);

}  // namespace seraph

#endif  // SERAPH_COMMON_BASE_SCRAMBLE_H_
