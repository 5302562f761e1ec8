#!/bin/sh
# Run the CDK's command line, at its pinned version, on the app in infra/:
#
#	scripts/cdk.sh synth -c issuer=https://id.example.com -c audience=tiltyard -c jwks=https://id.example.com/keys
#
# What can be chosen with -c is in docs/aws-options.md. Once it has run it needs no network but
# that to the AWS account, and synth not even an account.
set -eu
cd "$(dirname "$0")/.."
export CDK_DISABLE_CLI_TELEMETRY=1
exec scripts/npm.sh infra sh -c 'cd infra && exec cdk --no-notices "$@"' cdk "$@"
