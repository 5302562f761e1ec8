#!/bin/sh
# Deploy the real stacks into MiniStack on this machine, whose HTTP API checks tokens, and
# run tests of the acceptance suite through it; scripts/try-stack.sh does the work. The script
# needs npm, and bin/functions for this machine.
#
# The arguments are the tests, as pytest accepts them in local/e2e. Without arguments the whole
# suite runs, which takes ten minutes.
set -eu
cd "$(dirname "$0")/.."
case " ${WITHOUT:-} " in *" ministack "*)
	echo '*** WITHOUT=ministack: the stacks are not deployed ***'
	exit
	;;
esac
exec scripts/ministack.sh sh -c '
	AWS_ENDPOINT_URL=$TILTYARD_TEST_S3 exec scripts/try-stack.sh \
		"$1" "-c authorizer=gateway" "-c authorizer=function -c stream=true -c vending=true -c vend-tags=true"' \
	test-stack "${*:-.}"
