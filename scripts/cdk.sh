#!/bin/sh
# Run the CDK's command line, at its pinned version, on the app in infra/:
#
#	scripts/cdk.sh synth -c issuer=https://id.example.com -c audience=tiltyard -c jwks=https://id.example.com/keys
#
# docs/aws-options.md lists the options of -c. After the first run the script needs no network except
# to the AWS account; synth needs no account either.
set -eu
cd "$(dirname "$0")/.."
export CDK_DISABLE_CLI_TELEMETRY=1
exec scripts/npm.sh infra sh -c 'cd infra && exec cdk --no-notices "$@"' cdk "$@"
