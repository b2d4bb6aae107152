#!/bin/bash
# Stands for a daemon: takes its flags and behaves as FAKE_<NAME> says, where
# <NAME> is that of its ready file in capitals ("SERVER_0").
#
#   ready (default)  becomes ready and ends at SIGTERM, noting it in its log
#   stubborn         becomes ready and ignores SIGTERM
#   dies             writes 30 lines and ends with code 7
#   silent           never becomes ready
#   late-death       becomes ready and ends with code 9 when the file
#                    "<folder>/die" appears

echo "arguments: $*"
while [ $# -gt 0 ]; do
  case "$1" in
    --ready-file) ready=$2; shift ;;
    --exit-with-parent) parent=$2; shift ;;
  esac
  shift
done

name=$(basename "$ready" .ready | tr 'a-z-' 'A-Z_')
behaviour=FAKE_$name
behaviour=${!behaviour:-ready}
folder=$(dirname "$ready")

# Whoever forgets it must not leave processes of a test behind.
wait_for_end() {
  while kill -0 "$parent" 2>/dev/null; do
    [ "$behaviour" = late-death ] && [ -e "$folder/die" ] && exit 9
    sleep 0.02
  done
}

case "$behaviour" in
  dies)
    for i in $(seq 30); do echo "line $i"; done
    exit 7
    ;;
  stubborn) trap '' TERM ;;
  *) trap 'echo "stopped in good order"; exit 0' TERM ;;
esac
if [ "$behaviour" != silent ]; then
  echo "127.0.0.1:$((RANDOM % 1000 + 20000))" >"$ready.tmp"
  mv "$ready.tmp" "$ready"
fi
wait_for_end
