#!/bin/sh
# Run a program with PySpark in the current folder: scripts/pyspark.sh program.py [argument...]
#
# The script installs the packages of local/clients/spark/requirements.txt into .tools, once.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
requirements=local/clients/spark/requirements.txt
pyspark=$root/.tools/pyspark-$(cksum <"$root/$requirements" | cut -d ' ' -f 1)
if [ ! -e "$pyspark/ready" ]; then
	"$root/scripts/venv.sh" "$pyspark" "$requirements" >&2
	touch "$pyspark/ready"
fi
exec "$pyspark/bin/python" "$@"
