# What ./quickstart, ./test and .ci/run share. Source it in the repository's
# root.

# Bazel wants a home folder for its cache; services and containers have none.
if [ -z "${HOME:-}" ]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  export HOME="${HOME:-/tmp}"
fi

# Debian's Bazel, even where another one stands first on the PATH: that would be
# a newer one that does not know this repository's WORKSPACE.
SERAPH_BAZEL=${SERAPH_BAZEL:-/usr/bin/bazel}

# On a terminal Bazel shows its own progress. Elsewhere: a line now and then.
SERAPH_BAZEL_OUTPUT=()
if [ ! -t 2 ]; then
  SERAPH_BAZEL_OUTPUT=(--curses=no --color=no --show_progress_rate_limit=20
    --noshow_loading_progress)
fi

# Usage: seraph_bazel COMMAND ARGUMENT...
seraph_bazel() {
  local command=$1
  shift
  "$SERAPH_BAZEL" "$command" ${SERAPH_BAZEL_OUTPUT[@]+"${SERAPH_BAZEL_OUTPUT[@]}"} "$@"
}
