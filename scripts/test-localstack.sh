#!/bin/sh
# Deploy the real stacks into LocalStack on this machine, and use them through its REST API.
# scripts/localstack.sh runs LocalStack, and scripts/try-stack.sh and scripts/try-kept.sh deploy and test.
# The script needs npm, bin/functions for this machine, and Python 3.13.
#
# LocalStack has no HTTP APIs, and its REST APIs do not verify tokens; the functions verify
# them. Each request takes a tenth of a second, so the whole suite would take a quarter of
# an hour, and tests of concurrency would not be concurrent. The tests of stack-tests.txt cover
# each operation and each client, refused requests, and work of the worker. LocalStack itself
# handles compressed requests and unknown methods.
set -eu
cd "$(dirname "$0")/.."
scripts/localstack.sh scripts/try-stack.sh "$(tr '\n' ' ' <scripts/stack-tests.txt) \
--deselect \"server/test_bad_input.py::test_bad_request['compressed body']\" \
--deselect \"server/test_bad_input.py::test_bad_request['made-up method']\"" \
	'-c gateway=rest -c vending=true'
exec scripts/localstack.sh scripts/try-kept.sh
