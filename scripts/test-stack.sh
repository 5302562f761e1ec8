#!/bin/sh
# Deploy the real stacks into MiniStack on this machine, whose HTTP API checks tokens, and
# run the acceptance suite through it; scripts/try-stack.sh does the work. The script needs
# npm, and bin/functions for this machine.
set -eu
cd "$(dirname "$0")/.."
case " ${WITHOUT:-} " in *" ministack "*)
	echo '*** WITHOUT=ministack: the stacks are not deployed ***'
	exit
	;;
esac
exec scripts/ministack.sh sh -c '
	AWS_ENDPOINT_URL=$TILTYARD_TEST_S3 exec scripts/try-stack.sh \
		. "-c authorizer=gateway" "-c authorizer=function -c stream=true -c vending=true -c vend-tags=true"'
