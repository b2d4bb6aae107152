#include "client/render/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/string_view.h"

namespace seraph {

Terminal DescribeTerminal(
    int fd, const std::function<const char*(const char*)>& getenv) {
  Terminal terminal;
  const char* type = getenv("TERM");
  const bool dumb = type != nullptr && absl::string_view(type) == "dumb";
  terminal.interactive = isatty(fd) == 1 && !dumb;
  const char* no_colour = getenv("NO_COLOR");
  const bool colour_wanted = no_colour == nullptr || *no_colour == '\0';
  terminal.colour = terminal.interactive && colour_wanted;
  struct winsize size;
  if (terminal.interactive && ioctl(fd, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    terminal.width = size.ws_col;
  }
  return terminal;
}

}  // namespace seraph
