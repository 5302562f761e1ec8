#!/bin/sh
# Run the built functions behind a gateway on this machine, with MiniStack, which implements the
# protocols of S3, DynamoDB and SQS and loses its data when the script ends. The arguments are
# those of local/standins/lambda. LAMBDA is the path of that program, if it is not in bin.
set -eu
cd "$(dirname "$0")/.."
exec scripts/ministack.sh sh -c '
	export AWS_ENDPOINT_URL="$TILTYARD_TEST_S3" AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
	exec "${LAMBDA:-bin/lambda}" "$@"' lambda "$@"
