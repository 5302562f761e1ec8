#!/bin/sh
# Deploy both stacks into the stand-in for AWS at AWS_ENDPOINT_URL, use the service through
# its gateway with the tokens of a real authorization server, and destroy them again:
#
#	scripts/try-stack.sh TESTS 'GATEWAY OPTIONS' ['GATEWAY OPTIONS' ...]
#
# The first argument selects tests in local/e2e, as arguments of pytest; . is the whole
# suite. Tests that cannot run here are skipped, with the reason.
#
# Each further argument holds options for cdk, such as -c authorizer=gateway. The first of
# them deploys the stacks, and the others update them. scripts/test-stack.sh and
# scripts/test-localstack.sh call this script.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=$root/.venv/bin/python
tests=$1
shift
work=$(mktemp -d)
pid=
trap 'exit 1' INT TERM
trap 'if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || :; wait "$pid" 2>/dev/null || :; fi; rm -rf "$work"' EXIT
export AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test

# The stacks need the issuer when they are made.
scripts/npm.sh local/standins/issuer true
scripts/npm.sh local/standins/issuer node local/standins/issuer/main.cjs >"$work/issuer" 2>"$work/issuer.log" &
pid=$!
until issuer=$(grep '^http://' "$work/issuer"); do
	kill -0 "$pid" || { cat "$work/issuer.log" >&2; exit 1; }
	sleep 0.1
done

# A token with all permissions, and the options by which Lance reaches the tables.
token() {
	(cd "$root/local/e2e" && "$python" -c 'import smoke, sys; print(smoke.sign_in(sys.argv[1], "writer", smoke.BOTH))' "$issuer")
}
storage=$(printf '{"aws_endpoint_url": "%s", "aws_allow_http": "true", "aws_region": "%s", "aws_access_key_id": "test", "aws_secret_access_key": "test"}' \
	"$AWS_ENDPOINT_URL" "$AWS_REGION")

# A location for tables that other programs write and the service then registers.
outside=tiltyard-try-outside
"$python" -c 'import sys, urllib.request; urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="PUT"))' "$AWS_ENDPOINT_URL/$outside"

# Run tests against the last deployment.
judge() (
	cd local/e2e
	E2E_URL="$url" E2E_BEHIND=gateway E2E_VENDS="$vends" E2E_TOKEN="$(token)" E2E_STORAGE_OPTIONS="$storage" E2E_OUTSIDE="s3://$outside" \
		exec "$python" -m pytest -q -p no:cacheprovider --rootdir . "$@"
)

bootstrapped=
for options; do
	# The options are words: they have no spaces in them.
	# shellcheck disable=SC2086
	scripts/try-cdk.sh synth -q -o "$work/app" -c stage=try -c throw-away=true -c "architecture=$(go env GOARCH)" \
		-c "issuer=$issuer" -c audience=urn:tiltyard -c "jwks=$issuer/jwks" -c "allow-locations=s3://$outside" $options
	[ -n "$bootstrapped" ] || scripts/try-cdk.sh bootstrap aws://000000000000/us-east-1 --app "$work/app"
	bootstrapped=yes
	scripts/try-cdk.sh deploy --all --require-approval never --outputs-file "$work/outputs.json" --app "$work/app"
	# shellcheck disable=SC2046
	set -- $("$python" local/e2e/support/deployed.py "$work/outputs.json" tiltyard-try-service)
	url=$1 streams=${2:-}
	echo "deployed with $options: $url $streams" >&2
	# LanceDB's clients send their token as x-api-key, which a gateway that checks tokens
	# does not look for.
	key=--key vends=
	case $options in
	*authorizer=gateway*) key= ;;
	esac
	case $options in
	*vending=true*) vends=yes ;;
	esac
	"$python" local/e2e/smoke.py "$url" --issuer "$issuer" $key
	# What stands in for function URLs takes streams for text: Arrow does not get through.
	[ -z "$streams" ] || "$python" local/e2e/smoke.py "$streams" --issuer "$issuer" --key
	[ -z "$key" ] || eval "judge -n 4 --dist worksteal $tests" # who mostly wait
done
E2E_STACK=tiltyard-try judge jobs/test_dead_letters.py
scripts/try-cdk.sh destroy --all --force --app "$work/app"
