#!/bin/sh
# Deploy the real stacks into LocalStack on this machine, without Docker, and use them
# through its REST API; scripts/try-stack.sh does the work. The functions run as processes
# (local/localstack), and MiniStack holds the tables of LocalStack's DynamoDB.
#
# The script needs npm, bin/functions for this machine, and Python 3.13. If one is missing
# it prints so and succeeds, or fails if REQUIRE_LOCALSTACK is set.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.tools
localstack=$tools/localstack-$(cat local/localstack/requirements.txt local/localstack/pyproject.toml local/localstack/*/*.py | cksum | cut -d ' ' -f 1)
ministack=$tools/ministack-$(cksum <scripts/ministack.txt | cut -d ' ' -f 1)
work=$(mktemp -d)
pid=
trap 'exit 1' INT TERM
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; fi; rm -rf "$work"' EXIT

missing() {
	[ ! -e "$work/log" ] || tail -n 30 "$work/log" | cut -c 1-300 >&2
	echo "*** $1: NOTHING WAS TESTED IN LOCALSTACK ***" >&2
	[ -z "${REQUIRE_LOCALSTACK:-}" ] || exit 1
	exit 0
}

# LocalStack 4.14.0 works only with this version of Python.
python313() {
	for python in python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13.*/bin/python3; do
		if "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then
			command -v "$python"
			return
		fi
	done
	return 1
}

if [ ! -e "$localstack/ready" ]; then
	python=$(python313) || missing 'there is no Python 3.13'
	echo 'installing LocalStack (once, 500 MB)' >&2
	PYTHON=$python scripts/venv.sh "$localstack" local/localstack/requirements.txt >"$work/log" 2>&1 &&
		"$localstack/bin/python" -m pip install --quiet --no-deps ./local/localstack >"$work/log" 2>&1 ||
		missing 'LocalStack could not be installed'
	touch "$localstack/ready"
fi
scripts/ministack.sh true 2>"$work/log" || missing 'MiniStack could not be installed'

# LocalStack starts Amazon's DynamoDB Local, which it would download, as java … -port PORT
# …. These files, in place of both, start MiniStack on that port.
lib=$work/data/var/lib/localstack/lib
mkdir -p "$lib/dynamodb-local/2" "$lib/java/21/bin"
touch "$lib/dynamodb-local/2/DynamoDBLocal.jar"
cat >"$lib/java/21/bin/java" <<SHELL
#!/bin/sh
while [ "\$1" != -port ]; do shift; done
SERVICES=dynamodb BIND_HOST=127.0.0.1 GATEWAY_PORT=\$2 IOT_MTLS_ENABLED=0 exec '$ministack/bin/ministack'
SHELL
chmod +x "$lib/java/21/bin/java"

port=$("$localstack/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
# Its usual server listens to other machines as well, and in a container, for which it takes
# this machine, it would write to system folders. XDG_CACHE_HOME holds its list of plugins.
# It would close each connection after 5 s without use or 1,000 requests, possibly just when
# a client sends its next request, which native Lance's client does not repeat.
env -u AWS_ENDPOINT_URL OVERRIDE_IN_DOCKER=0 GATEWAY_SERVER=hypercorn GATEWAY_LISTEN="127.0.0.1:$port" \
	FILESYSTEM_ROOT="$work/data" XDG_CACHE_HOME="$work/cache" TMPDIR="$work" DNS_ADDRESS=0 \
	SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 LAMBDA_RUNTIME_EXECUTOR=process LAMBDA_IGNORE_ARCHITECTURE=1 \
	"$localstack/bin/python" -c 'from hypercorn.config import Config
Config.keep_alive_timeout, Config.keep_alive_max_requests = 3600, 1 << 30
from localstack.runtime.main import main
main()' >"$work/log" 2>&1 &
pid=$!
began=$(date +%s)
until "$localstack/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \
	"$AWS_ENDPOINT_URL/_localstack/health" 2>/dev/null; do
	kill -0 "$pid" 2>/dev/null && [ $(($(date +%s) - began)) -lt 60 ] || missing 'LocalStack did not start'
	sleep 0.2
done

# LocalStack has no HTTP APIs, and its REST APIs verify no tokens; the functions verify
# them. Each request takes a tenth of a second, so the whole suite would take a quarter of
# an hour, and tests of concurrency would not be concurrent. These tests cover each
# operation and each client, refused requests, and work of the worker. LocalStack itself
# handles compressed requests and unknown methods.
scripts/try-stack.sh "test_operations.py test_vending.py test_lancedb_remote.py test_lancedb_query.py \
test_lancedb_catalog.py test_lance_namespace.py test_streaming.py test_transactions.py test_branches.py \
test_columns.py test_bad_input.py test_maintenance.py::test_a_large_cascade_is_a_job \
--deselect \"test_bad_input.py::test_bad_request['compressed body']\" \
--deselect \"test_bad_input.py::test_bad_request['made-up method']\"" \
	'-c gateway=rest -c vending=true' || {
	grep -v ' => 200$' "$work/log" | tail -n 40 | cut -c 1-300 >&2
	exit 1
}
