#!/bin/sh
# Run scripts/test-stack.sh and scripts/test-localstack.sh in parallel, the first with the tests of
# stack-tests.txt and the second with a part of them; the whole suite has already run against the same functions behind another gateway. Each script waits
# most of the time for its stand-in for AWS, which computes on one core.
set -eu
cd "$(dirname "$0")/.."
for folder in infra local/standins/issuer; do
	scripts/npm.sh "$folder" true # what both need is installed once
done
scripts/ministack.sh true
# shellcheck disable=SC2046
scripts/beside.sh 'echo "the stacks in LocalStack:"; scripts/test-localstack.sh' scripts/test-stack.sh $(cat scripts/stack-tests.txt)
