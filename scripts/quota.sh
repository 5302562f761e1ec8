#!/bin/sh
# Check that the Lambda quota of the account has room for the concurrency that a deployment with the given options
# reserves. Without the AWS command line, without its credentials, or if the file cdk.json has such options, it checks
# nothing.
set -eu
! grep -Eq '"(workers|stream|gateway|reserve-[a-z]+)"' "$(dirname "$0")/../infra/cdk.json" || exit 0
command -v aws >/dev/null || exit 0
limit=$(aws lambda get-account-settings --query AccountLimit.ConcurrentExecutions --output text 2>/dev/null) || exit 0
workers=10 stream=100 reserve=true streams=false
for option in "$@"; do
	case $option in
	workers=*) workers=${option#*=} ;;
	reserve-stream=*) stream=${option#*=} ;;
	reserve-workers=*) reserve=${option#*=} ;;
	stream=*) streams=${option#*=} ;;
	gateway=rest) stream=0 ;;
	esac
done
need=0
[ "$reserve" = false ] || need=$((workers + 2))
[ "$streams" = false ] || need=$((need + stream))
# AWS keeps 100 for functions without a reservation.
[ "$need" -eq 0 ] || [ $((need + 100)) -le "$limit" ] || {
	echo "The account runs $limit functions at once. This deployment reserves $need, and Lambda keeps 100 free." >&2
	echo "Request a larger quota, or use reserve-workers=false and reserve-stream=0: docs/aws.md" >&2
	exit 1
}
