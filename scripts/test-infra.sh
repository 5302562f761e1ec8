#!/bin/sh
# Test the AWS stacks: the Go tests, including the rules of cdk-nag, and cfn-lint and checkov
# on the generated templates. The script installs both into .tools; WITHOUT=cfn-lint and
# WITHOUT=checkov skip them. Checkov checks only the stacks with every option, because it takes
# half a minute for them.
set -eu
cd "$(dirname "$0")/.."
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd infra && go test ./... -templates="$work" "$@")

# wanted says whether the check of that name is to run, and installs it.
wanted() {
	case " ${WITHOUT:-} " in *" $1 "*)
		echo "*** WITHOUT=$1: it does not check the templates ***"
		return 1
		;;
	esac
	tool=$PWD/.tools/$1-$(cksum <"scripts/$1.txt" | cut -d ' ' -f 1)
	[ ! -e "$tool/ready" ] || return 0
	scripts/venv.sh "$tool" "scripts/$1.txt" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		echo "$1 could not be installed; WITHOUT=$1 goes without it"
		exit 1
	}
	touch "$tool/ready"
}

if wanted checkov; then
	"$tool/bin/checkov" --config-file scripts/checkov.yaml --skip-download --framework cloudformation \
		--compact --quiet \
		--file "$work"/everything-*.template.json
fi
if wanted cfn-lint; then
	# W3005: the CDK writes down dependencies that references make, too. The stacks of the variant
	# called plain are parts of those of the others.
	rm "$work"/plain-*
	"$tool/bin/cfn-lint" --ignore-checks W3005 -- "$work"/*.template.json
fi
