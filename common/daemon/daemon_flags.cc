#include "common/daemon/daemon_flags.h"

#include <sstream>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "common/version/version.h"

namespace seraph {
namespace {

constexpr int kUsageError = 2;

std::string Footer(const DaemonInfo& info) {
  return absl::StrCat(
      "Each value comes from the first of these that gives it: flags, the\n"
      "environment (SERAPH_SECTION__KEY), the file, the default.\n\n"
      "Examples:\n"
      "  ",
      info.name,
      " --config /etc/seraph/cluster.yaml\n"
      "  ",
      info.name,
      " --config cluster.yaml --set log.level=debug\n"
      "  ",
      info.name, " --config cluster.yaml --check\n\n",
      "Exit codes: 0 stopped in good order; 1 failed; 2 wrong usage or an\n"
      "invalid configuration.\n");
}

}  // namespace

ParsedFlags ParseDaemonFlags(int argc, const char* const* argv,
                             const DaemonInfo& info) {
  DaemonFlags flags;
  std::string listen;
  std::string scheduler;

  CLI::App app(info.summary, info.name);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", absl::StrCat(info.name, " ", kVersion));
  app.footer(Footer(info));
  app.add_option("--config", flags.config, "The cluster file")
      ->type_name("FILE");
  app.add_option("--set", flags.sets,
                 "Set a value of the cluster file; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--listen", listen,
                 absl::StrCat("Set ", info.section, ".listen"))
      ->type_name("HOST:PORT");
  if (info.section != "scheduler") {
    app.add_option("--scheduler", scheduler, "Set cluster.scheduler")
        ->type_name("HOST:PORT");
  }
  app.add_flag("--check", flags.check,
               "Validate and print the effective configuration, then exit");
  app.add_option("--ready-file", flags.ready_file,
                 "Write the bound address to FILE once it serves")
      ->type_name("FILE");
  app.add_option("--exit-with-parent", flags.parent,
                 "Stop when process PID, the parent of this one, ends")
      ->type_name("PID")
      ->check(CLI::PositiveNumber);

  ParsedFlags result;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    result.exit_code = app.exit(error, out, err) == 0 ? 0 : kUsageError;
    result.text = absl::StrCat(out.str(), err.str());
    return result;
  }
  if (!listen.empty()) {
    flags.sets.push_back(absl::StrCat(info.section, ".listen=", listen));
  }
  if (!scheduler.empty()) {
    flags.sets.push_back(absl::StrCat("cluster.scheduler=", scheduler));
  }
  result.flags = std::move(flags);
  return result;
}

}  // namespace seraph
