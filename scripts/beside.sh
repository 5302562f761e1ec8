#!/bin/sh
# Run two commands in parallel: the first argument, in a shell, and the remaining arguments. The output of
# the first follows the output of the second. The exit code is 1 if either of them fails. Both end with
# this script.
set -eu
log=$(mktemp)
pid=
trap 'exit 1' INT TERM
trap '[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null || :; rm -f "$log"' EXIT
echo "beside the others: $1"
# Where there is setsid, all that the first starts is a process group.
# shellcheck disable=SC2046
$(command -v setsid) sh -c "$1" >"$log" 2>&1 &
pid=$!
shift
failed=0
"$@" || failed=1
wait "$pid" || failed=1
pid=
cat "$log"
exit $failed
