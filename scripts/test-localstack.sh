#!/bin/sh
# Deploy the real stacks into LocalStack on this machine, and use them through its REST API.
# scripts/localstack.sh runs LocalStack, and scripts/try-stack.sh and scripts/try-kept.sh deploy and test.
# The script needs npm, bin/functions for this machine, and Python 3.13.
#
# LocalStack has no HTTP APIs, and its REST APIs do not verify tokens; the functions verify
# them. Each request takes a tenth of a second, so the whole suite would take a quarter of
# an hour, and tests of concurrency would not be concurrent. The tests of stack-tests.txt cover
# each operation and each client, refused requests, and work of the worker. Those that ask the same functions
# the same in the other stack, and have no other way here, do not run: refused requests, branches, columns, searches.
set -eu
cd "$(dirname "$0")/.."
tests=$(grep -vE '/test_(bad_input|branches|columns|lancedb_query)\.py$' scripts/stack-tests.txt | tr '\n' ' ')
scripts/localstack.sh scripts/try-stack.sh "$tests" '-c gateway=rest -c vending=true'
exec scripts/localstack.sh scripts/try-kept.sh
