#!/bin/sh
# Measure the built functions with MiniStack as S3. The arguments are those of
# local/tools/functionbench.
set -eu
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -trimpath -tags lambda.norpc -ldflags '-s -w' -o bin/bare ./local/tools/functionbench/bare
go build -o bin/functionbench ./local/tools/functionbench
exec scripts/ministack.sh sh -c '
	export AWS_ENDPOINT_URL="$TILTYARD_TEST_S3" AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
	exec bin/functionbench "$@"' functionbench "$@"
