#!/bin/sh
# Run scripts/cdk.sh in the stand-in for AWS at AWS_ENDPOINT_URL. It prints only its first argument,
# unless it fails.
set -eu
cd "$(dirname "$0")/.."
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
log=$(mktemp)
trap 'exit 1' INT TERM
trap 'rm -f "$log"' EXIT
echo "cdk $1" >&2
if ! scripts/cdk.sh "$@" >"$log" 2>&1; then
	tail -n 60 "$log" >&2
	exit 1
fi
