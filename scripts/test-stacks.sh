#!/bin/sh
# Run scripts/test-stack.sh and scripts/test-localstack.sh side by side, both with the tests of
# stack-tests.txt: the whole suite has met the same functions behind another gateway. Each waits most
# of the time for its stand-in for AWS, which computes on one core. The output of the second follows
# that of the first.
set -eu
cd "$(dirname "$0")/.."
log=$(mktemp)
pid=
trap 'exit 1' INT TERM
trap '[ -z "$pid" ] || kill -- "-$pid" 2>/dev/null || kill "$pid" 2>/dev/null || :; rm -f "$log"' EXIT
for folder in infra local/issuer; do
	scripts/npm.sh "$folder" true # what both need is installed once
done
scripts/ministack.sh true

# Where there is setsid, all that it starts is a process group, which ends with this script.
# shellcheck disable=SC2046
$(command -v setsid) scripts/test-localstack.sh >"$log" 2>&1 &
pid=$!
failed=0
# shellcheck disable=SC2046
scripts/test-stack.sh $(cat scripts/stack-tests.txt) || failed=1
echo 'the stacks in LocalStack:'
wait "$pid" || failed=1
pid=
cat "$log"
exit $failed
