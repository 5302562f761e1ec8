#!/bin/sh
# Run a command with LocalStack, without Docker: scripts/localstack.sh scripts/try-stack.sh …
#
# Deployed functions run as processes (local/standins/localstack), and MiniStack
# stores the tables of its DynamoDB. LocalStack listens on a free port of this machine and ends with
# the command, which gets its URL in AWS_ENDPOINT_URL.
#
# The script installs LocalStack into .tools at pinned versions, which needs Python 3.13. If
# something is missing, the script prints a message and succeeds, or fails if REQUIRE_LOCALSTACK is set.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/.tools
localstack=$tools/localstack-$(cksum <local/standins/localstack/requirements.txt | cut -d ' ' -f 1)
plugin=$tools/localstack-plugin-$(cat local/standins/localstack/pyproject.toml local/standins/localstack/*/*.py | cksum | cut -d ' ' -f 1)
ministack=$tools/ministack-$(cksum <scripts/ministack.txt | cut -d ' ' -f 1)
work=$(mktemp -d)
pid=
trap 'exit 1' INT TERM
trap 'stop; rm -rf "$work"' EXIT

# LocalStack does not always end when it is told to, and then its DynamoDB does not, either.
stop() {
	[ -n "$pid" ] || return 0
	kill "$pid" 2>/dev/null || :
	waited=0
	while kill -0 "$pid" 2>/dev/null && [ "$waited" -lt 150 ]; do
		sleep 0.2
		waited=$((waited + 1))
	done
	for left in "$pid" $(cat "$work/dynamodb" 2>/dev/null); do
		kill -9 "$left" 2>/dev/null || :
	done
}

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
	PYTHON=$python scripts/venv.sh "$localstack" local/standins/localstack/requirements.txt >"$work/log" 2>&1 ||
		missing 'LocalStack could not be installed'
	touch "$localstack/ready"
fi
if [ ! -e "$plugin/ready" ]; then
	"$localstack/bin/python" -m pip install --quiet --no-deps --upgrade --target "$plugin" ./local/standins/localstack >"$work/log" 2>&1 ||
		missing 'the plugin of LocalStack could not be installed'
	touch "$plugin/ready"
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
echo "\$\$" >'$work/dynamodb'
SERVICES=dynamodb BIND_HOST=127.0.0.1 GATEWAY_PORT=\$2 IOT_MTLS_ENABLED=0 exec '$ministack/bin/python' '$ministack/bin/ministack'
SHELL
chmod +x "$lib/java/21/bin/java"

port=$("$localstack/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
# Its usual server listens to other machines as well, and in a container, for which it takes
# this machine, it would write to system folders. XDG_CACHE_HOME holds its list of plugins.
# It would close each connection after 5 s without use or 1,000 requests, possibly just when
# a client sends its next request, which native Lance's client does not repeat.
env -u AWS_ENDPOINT_URL PYTHONPATH="$plugin" OVERRIDE_IN_DOCKER=0 GATEWAY_SERVER=hypercorn GATEWAY_LISTEN="127.0.0.1:$port" \
	FILESYSTEM_ROOT="$work/data" XDG_CACHE_HOME="$work/cache" TMPDIR="$work" DNS_ADDRESS=0 \
	SKIP_SSL_CERT_DOWNLOAD=1 DISABLE_EVENTS=1 LAMBDA_RUNTIME_EXECUTOR=process LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT=60 LAMBDA_IGNORE_ARCHITECTURE=1 \
	"$localstack/bin/python" -c 'from hypercorn.config import Config
Config.keep_alive_timeout, Config.keep_alive_max_requests = 3600, 1 << 30
from localstack.runtime.main import main
main()' >"$work/log" 2>&1 &
pid=$!
began=$(date +%s)
until "$localstack/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \
	"$AWS_ENDPOINT_URL/_localstack/health" 2>/dev/null; do
	kill -0 "$pid" 2>/dev/null && [ $(($(date +%s) - began)) -lt 180 ] || missing 'LocalStack did not start'
	sleep 0.2
done

"$@" || {
	code=$?
	grep -v ' => 200$' "$work/log" | tail -n 40 | cut -c 1-300 >&2
	exit $code
}
