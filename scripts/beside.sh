#!/bin/sh
# Run two commands side by side: the first argument, by a shell, and the others. The output of the
# first follows that of the other one. The exit code is 1 when either of them fails. Both end with
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
