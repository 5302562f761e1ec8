#!/bin/sh
# Test real servers of the S3 protocol: the contract of stores, then servers with the stock clients over
# them (local/stores). Arguments select servers: versitygw, seaweedfs; without arguments the script tests both.
#
# The script installs each server once, pinned, into .tools. The servers listen on free ports of this machine
# and end with the script. The script prints broken guarantees that the service does not need. If a server
# cannot be installed, the script prints this and skips it; with REQUIRE_STORES=1 it fails.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
versitygw=v1.8.0
work=$(mktemp -d)
pid=
# shellcheck disable=SC2329 # the traps call it
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || :
	[ -z "$pid" ] || wait "$pid" 2>/dev/null || :
	pid=
}
trap 'exit 1' INT TERM
trap 'stop; rm -rf "$work"' EXIT
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=testtest AWS_REGION=us-east-1

# free N prints N free ports, all below the range that the system gives to clients: SeaweedFS listens
# on each port and on the one 10,000 above it, too.
free() {
	.venv/bin/python -c 'import random, socket, sys
found = []
while len(found) < int(sys.argv[1]):
    port = random.randrange(11000, 21000)
    try:
        for at in port, port + 10000:
            with socket.socket() as s:
                s.bind(("127.0.0.1", at))
        found.append(str(port))
    except OSError:
        pass
print(*found)' "$1"
}

# ready URL: waits until the server answers.
ready() {
	.venv/bin/python - "$1" "$pid" <<'PYTHON'
import os, sys, time, urllib.error, urllib.request
give_up = time.monotonic() + 120  # on a busy machine
while True:
    try:
        urllib.request.urlopen(sys.argv[1], timeout=5).read()
    except urllib.error.HTTPError as refusal:
        if refusal.code < 500:
            break
    except OSError:
        pass
    else:
        break
    os.kill(int(sys.argv[2]), 0)  # fails when it has ended
    if time.monotonic() > give_up:
        sys.exit("the server does not answer")
    time.sleep(0.1)
PYTHON
}

start_versitygw() {
	server=$root/.tools/versitygw-$versitygw
	if [ ! -x "$server" ]; then
		echo "building versitygw $versitygw (once; a minute or two)"
		mkdir -p .tools
		GOBIN=$work GOFLAGS=-trimpath go install -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@$versitygw" >"$work/log" 2>&1 || return
		mv "$work/versitygw" "$server"
	fi
	port=$(free 1)
	mkdir "$work/versitygw-data"
	ROOT_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID ROOT_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY \
		"$server" --port "127.0.0.1:$port" --quiet posix "$work/versitygw-data" >"$work/log" 2>&1 &
	pid=$!
	TILTYARD_TEST_S3=http://127.0.0.1:$port
}

start_seaweedfs() {
	server=$(scripts/seaweedfs.sh 2>"$work/log") || return
	# shellcheck disable=SC2046
	set -- $(free 6)
	mkdir "$work/seaweedfs-data"
	cat >"$work/seaweedfs.json" <<JSON
{"identities": [{"name": "test", "actions": ["Admin", "Read", "Write", "List", "Tagging"],
  "credentials": [{"accessKey": "$AWS_ACCESS_KEY_ID", "secretKey": "$AWS_SECRET_ACCESS_KEY"}]}]}
JSON
	# Without minFreeSpace it refuses all writes on a disk of which less than one percent is free.
	"$server" -logtostderr server -ip=127.0.0.1 -ip.bind=127.0.0.1 -dir="$work/seaweedfs-data" \
		-master.port="$1" -master.volumeSizeLimitMB=64 -volume.port="$2" -volume.max=100 -volume.minFreeSpace=100MiB \
		-filer -filer.port="$3" \
		-s3 -s3.port="$4" -s3.port.iceberg="$5" -metricsPort="$6" -s3.config="$work/seaweedfs.json" >"$work/log" 2>&1 &
	pid=$!
	TILTYARD_TEST_S3=http://127.0.0.1:$4
}

# The contract, with few rounds of its races, and clients over two servers.
judge() {
	contract='go test -short -failfast -count=1 ./shared/storage/objectstore/s3store -run'
	$contract '^Test(ContractOnStandIn|Uploads.*|UnfinishedUploadsOnStandIn)$/^Must$' || return
	if ! $contract '^TestContractOnStandIn$/^Nice$' >"$work/nice" 2>&1; then
		echo "*** $1 does not keep, and the service does without: ***"
		grep -E '^ +--- FAIL: .*/Nice/' "$work/nice" | sed 's,.*/Nice/\([A-Za-z]*\).*,  \1,'
	fi
	.venv/bin/python -m pytest -q -p no:cacheprovider local/stores/test_stores.py
}

failed=0
for name in ${*:-versitygw seaweedfs}; do
	echo "the store: $name"
	if "start_$name" && ready "$TILTYARD_TEST_S3/" 2>>"$work/log"; then
		export TILTYARD_TEST_S3
		if ! judge "$name"; then
			failed=1
			echo "the last lines that $name printed, of a disk with $(df -h "$work" | awk 'NR == 2 { print $4 }') free:" >&2
			tail -n 30 "$work/log" | cut -c 1-300 >&2
		fi
	else
		tail -n 20 "$work/log" | cut -c 1-300 >&2
		echo "*** $name cannot be installed or started: it is NOT tested ***" >&2
		[ -z "${REQUIRE_STORES:-}" ] || failed=1
	fi
	stop
	rm -rf "$work/$name-data"
done

echo 'stores that break their promises'
unset TILTYARD_TEST_S3
scripts/ministack.sh .venv/bin/python -m pytest -q -p no:cacheprovider local/stores/test_refusals.py || failed=1
exit $failed
