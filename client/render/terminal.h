// What is known of the terminal behind a stream.
#ifndef SERAPH_CLIENT_RENDER_TERMINAL_H_
#define SERAPH_CLIENT_RENDER_TERMINAL_H_

#include <functional>
#include <string>

namespace seraph {

struct Terminal {
  bool interactive = false;  // A person watches: bars that move.
  bool colour = false;
  int width = 80;  // Characters.
};

// Of the descriptor `fd` (1, 2). There is colour on a terminal, unless
// NO_COLOR is set and not empty or TERM is "dumb"; `getenv` is std::getenv or a
// test's.
Terminal DescribeTerminal(
    int fd, const std::function<const char*(const char*)>& getenv);

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_TERMINAL_H_
