#!/bin/sh
# Deploy both stacks into the stand-in for AWS at AWS_ENDPOINT_URL with the options of a permanent deployment.
# It adds the options that scripts/try-stack.sh omits: the audit bucket, backups, a network without
# internet access, API keys, KMS keys, secrets, and a queue for events.
# server/test_kept.py checks the result. scripts/test-localstack.sh calls this script.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
work=$(mktemp -d)
trap 'exit 1' INT TERM
trap 'rm -rf "$work"' EXIT
key=$("$python" -c 'import secrets; print(secrets.token_urlsafe())')
printf 'ada %s\n' "$(printf %s "$key" | sha256sum | cut -d ' ' -f 1)" >"$work/keys.txt"

# The queue that gets events exists before the first change.
events=tiltyard-kept-events
(cd local/e2e/support && "$python" -c 'import stack, sys; stack.API().sqs("CreateQueue", QueueName=sys.argv[1])' "$events")

scripts/try-cdk.sh synth -q -o "$work/app" -c stage=kept -c "architecture=$(go env GOARCH)" -c "api-keys=$work/keys.txt" \
	-c gateway=rest -c vpc=new -c kms=true -c secrets=true -c events=urn:lake:kept \
	-c "event-target=arn:aws:sqs:us-east-1:000000000000:$events"
scripts/try-cdk.sh bootstrap aws://000000000000/us-east-1 --app "$work/app"
scripts/try-cdk.sh deploy --all --require-approval never --outputs-file "$work/outputs.json" --app "$work/app"
url=$("$python" local/e2e/support/deployed.py "$work/outputs.json" tiltyard-kept-service)
"$python" local/e2e/smoke.py "$url" "$key" --key
cd local/e2e
E2E_URL="$url" E2E_BEHIND=gateway E2E_TOKEN="$key" E2E_STACK=tiltyard-kept "$python" -m pytest -q -p no:cacheprovider server/test_kept.py
