#!/bin/sh
# Run the real clients against the local server, and against the built functions behind
# stand-ins for a gateway, S3 and DynamoDB. The arguments are those of pytest.
# E2E_TARGET=embedded or E2E_TARGET=lambda runs only one of them; E2E_URL and E2E_TOKEN
# select a server that runs elsewhere.
#
# Three processes run the tests, each with its own servers, because a test waits half of the time.
set -eu
cd "$(dirname "$0")/.."
CHROMIUM=$(scripts/chromium.sh)
export CHROMIUM
failed=0
[ -z "${E2E_URL:-}" ] || E2E_TARGET=url
case " $*" in
*" local/e2e/"*) ;; # these files only
*) set -- local/e2e "$@" ;;
esac
for target in ${E2E_TARGET:-embedded lambda}; do
	echo "the clients against: $target"
	case "$target ${WITHOUT:-} " in lambda*" ministack "*)
		echo '*** WITHOUT=ministack: the clients do not meet the functions ***'
		continue
		;;
	esac
	[ "$target" != lambda ] || scripts/ministack.sh true # installs it once
	E2E_TARGET=$target .venv/bin/python -m pytest -q -p no:cacheprovider -n 3 --dist worksteal "$@" || failed=1
done
exit $failed
