// float32 as text that reads back to the same bits.
#ifndef SERAPH_CLIENT_EXPORT_FLOAT_TEXT_H_
#define SERAPH_CLIENT_EXPORT_FLOAT_TEXT_H_

#include <charconv>
#include <string>

namespace seraph {

// The shortest such text: "0.1", "1e-40", "-0".
inline void AppendFloat(float value, std::string* to) {
  char buffer[32];
  const std::to_chars_result result =
      std::to_chars(buffer, buffer + sizeof(buffer), value);
  to->append(buffer, result.ptr);
}

}  // namespace seraph

#endif  // SERAPH_CLIENT_EXPORT_FLOAT_TEXT_H_
