#!/bin/sh
# Test the stacks of AWS: the Go tests, among them the rules of cdk-nag, and cfn-lint on the
# templates that they make. The script installs cfn-lint into .tools; WITHOUT=cfn-lint goes
# without it.
#
# Checkov is not among the checks: to install it and to run it takes three minutes, and all
# that it found is what rules of cdk-nag found, too, which infra/nag_test.go explains.
set -eu
cd "$(dirname "$0")/.."
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd infra && go test ./... -templates="$work" "$@")
case " ${WITHOUT:-} " in *" cfn-lint "*)
	echo '*** WITHOUT=cfn-lint: the templates are not checked ***'
	exit
	;;
esac
lint=$PWD/.tools/cfn-lint-$(cksum <scripts/cfn-lint.txt | cut -d ' ' -f 1)
if [ ! -e "$lint/ready" ]; then
	scripts/venv.sh "$lint" scripts/cfn-lint.txt >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		echo 'cfn-lint could not be installed; WITHOUT=cfn-lint goes without it'
		exit 1
	}
	touch "$lint/ready"
fi
# W3005: the CDK writes down dependencies that references make, too. The stacks of the variant
# called plain are parts of those of the others.
rm "$work"/plain-*
"$lint/bin/cfn-lint" --ignore-checks W3005 -- "$work"/*.template.json
