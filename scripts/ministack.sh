#!/bin/sh
# Run a command with MiniStack, which implements the protocols of S3 and DynamoDB:
# scripts/ministack.sh go test ./shared/storage/objectstore/s3store
#
# The script installs it into .tools at pinned versions. It listens on a free port of this
# machine and ends with the command, which gets its URL in TILTYARD_TEST_S3,
# TILTYARD_TEST_DYNAMODB and TILTYARD_TEST_SQS. With WITHOUT=ministack the command runs alone.
set -eu
cd "$(dirname "$0")/.."
case " ${WITHOUT:-} " in *" ministack "*)
	echo '*** WITHOUT=ministack: S3 and DynamoDB are not tested ***' >&2
	exec "$@"
	;;
esac
server=.tools/ministack-$(cksum <scripts/ministack.txt | cut -d ' ' -f 1)
work=$(mktemp -d)
pid=
trap : INT TERM # the command ends, and then this does, by the next line
# The server may have ended by the same signal as the command. Only the status of the command counts.
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || :; wait "$pid" 2>/dev/null || :; fi; rm -rf "$work"' EXIT

if [ ! -e "$server/ready" ]; then
	echo 'installing MiniStack (once)' >&2
	if scripts/venv.sh "$server" scripts/ministack.txt >"$work/log" 2>&1; then
		touch "$server/ready"
	fi
fi

if [ -e "$server/ready" ]; then
	port=$("$server/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	url=http://127.0.0.1:$port
	# Without the third it would listen to other machines, too. The rest is for the functions
	# that it runs: it hands them events in two pieces, of which the second would wait 40 ms for
	# the first to be acknowledged, and its {proxy+} takes no empty rest, as that of AWS does.
	env BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" IOT_MTLS_ENABLED=0 AWS_ENDPOINT_URL="$url" \
		"$server/bin/python" -c 'import socketserver
socketserver.StreamRequestHandler.disable_nagle_algorithm = True
from ministack.services import apigateway
match = apigateway._extract_path_params
apigateway._extract_path_params = lambda route, path: match(
    route, path + "-" if route.endswith("+}") and path.endswith("/") else path)
from ministack.app import main
main()' >"$work/log" 2>&1 &
	pid=$!
	if "$server/bin/python" - "$url/_ministack/health" "$pid" 2>>"$work/log" <<'PYTHON'; then
import os, sys, time, urllib.request
give_up = time.monotonic() + 180  # on a busy machine
while True:
    try:
        urllib.request.urlopen(sys.argv[1], timeout=5).read()
        break
    except OSError:
        os.kill(int(sys.argv[2]), 0)  # fails when it has ended
        if time.monotonic() > give_up:
            raise
        time.sleep(0.1)
PYTHON
		export TILTYARD_TEST_S3="$url" TILTYARD_TEST_DYNAMODB="$url" TILTYARD_TEST_SQS="$url"
	fi
fi

if [ -z "${TILTYARD_TEST_S3:-}" ]; then
	tail -n 20 "$work/log" | cut -c 1-300 >&2
	echo 'MiniStack could not be started; WITHOUT=ministack goes without it' >&2
	exit 1
fi
"$@"
