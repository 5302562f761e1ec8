#!/bin/sh
# Run third-party clients, and the code of docs/clients, against the local server and against
# the built functions, as scripts/test-e2e.sh does with the clients in .venv.
# The arguments are those of pytest; E2E_TARGET selects the server or the functions.
#
# The script installs the clients once, at pinned versions: Python clients and pytest into .tools/clients-…,
# npm, Maven, Cargo and Go clients by scripts/npm.sh, jars.sh, pyspark.sh, crate.sh and adbc.sh.
# No other script needs them. If a client cannot be installed, the script prints this and skips it.
set -eu
cd "$(dirname "$0")/.."
requirements=local/clients/requirements.txt
clients=$PWD/.tools/clients-$(cksum <"$requirements" | cut -d ' ' -f 1)
if [ ! -e "$clients/ready" ]; then
	if scripts/venv.sh "$clients" "$requirements" >&2; then
		touch "$clients/ready"
	else
		echo '*** the clients in Python cannot be installed: no client is tested ***' >&2
		exit
	fi
fi

# missing NAME: the client NAME could not be installed.
E2E_WITHOUT=
missing() {
	echo "*** $1 cannot be installed: it is NOT tested ***" >&2
	E2E_WITHOUT="$E2E_WITHOUT $1"
}
scripts/npm.sh local/clients/node true || missing node
scripts/jars.sh local/clients/java >/dev/null || missing java
scripts/jars.sh local/clients/jdbc >/dev/null || missing jdbc
{ scripts/jars.sh local/clients/spark && scripts/pyspark.sh -c ''; } >/dev/null || missing spark
scripts/crate.sh local/clients/rust || missing rust
scripts/adbc.sh >/dev/null || missing go
if [ -z "${LANCEDB_CRATE:-}" ]; then
	echo '*** the crate lancedb, which takes half an hour to compile, is NOT tested: LANCEDB_CRATE=1 tests it ***' >&2
	E2E_WITHOUT="$E2E_WITHOUT lancedb-crate"
else
	scripts/crate.sh local/clients/lancedb || missing lancedb-crate
fi
[ -n "${CLUSTER_ROWS:-}" ] ||
	echo '*** Ray, Spark and Daft on clusters of four workers, which take some minutes each, are NOT tested: CLUSTER_ROWS=20000 tests them ***' >&2
# Older clients use the other packages of the environment, which may have no pip of its own.
pip="$clients/bin/python -m pip"
$pip --version >/dev/null 2>&1 || pip="${PYTHON:-python3} -m pip --python $clients/bin/python"
while read -r client; do
	version=${client#lancedb==}
	[ -e ".tools/lancedb-$version/ready" ] || {
		rm -rf ".tools/lancedb-$version"
		$pip install --disable-pip-version-check --progress-bar off --no-deps --target ".tools/lancedb-$version" "$client" >&2 &&
			touch ".tools/lancedb-$version/ready"
	} || missing older
done <local/clients/older/requirements.txt
scripts/npm.sh local/clients/older true || missing older-node
export E2E_WITHOUT

failed=0
case " $*" in
*" local/clients/"*) ;; # these files only
*) set -- local/clients "$@" ;;
esac
for target in ${E2E_TARGET:-embedded lambda}; do
	echo "other people's clients against: $target"
	case "$target ${WITHOUT:-} " in lambda*" ministack "*)
		echo '*** WITHOUT=ministack: the clients do not meet the functions ***'
		continue
		;;
	esac
	[ "$target" != lambda ] || scripts/ministack.sh true # installs it once
	E2E_TARGET=$target "$clients/bin/python" -m pytest -q -p no:cacheprovider -n 3 --dist worksteal "$@" || failed=1
done
exit $failed
