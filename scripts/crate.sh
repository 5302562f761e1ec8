#!/bin/sh
# Run a program with the dependencies of a crate: scripts/crate.sh local/clients/rust main.rs [argument...]
#
# The program replaces the crate's own. Cargo compiles the dependencies into .tools, once; without
# a program the script does only that. The lock file in the folder names no registry: the
# packages come from the registry that Cargo is configured for.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$root/$1
shift
command -v cargo >/dev/null || {
	echo "cargo is needed for the crate in $folder" >&2
	exit 1
}
mkdir -p "$root/.tools"
# The crate lancedb is compiled with protoc, which a package of Python has.
if grep -q '^lancedb ' "$folder/Cargo.toml" && ! command -v protoc >/dev/null; then
	version=1.85.1
	export PROTOC="$root/.tools/protoc-$version/protoc"
	if [ ! -x "$PROTOC" ]; then
		"${PYTHON:-python3}" -m venv --clear "${PROTOC%/protoc}" >&2
		"${PROTOC%/protoc}/bin/pip" install --quiet --disable-pip-version-check "grpcio-tools==$version" >&2
		printf '#!/bin/sh\nexec %s/bin/python -m grpc_tools.protoc "$@"\n' "${PROTOC%/protoc}" >"$PROTOC"
		chmod +x "$PROTOC"
	fi
fi
crate=$root/.tools/crate-$(cat "$folder/Cargo.toml" "$folder/Cargo.lock" | cksum | cut -d ' ' -f 1)
if [ ! -e "$crate/ready" ]; then
	echo "compiling the dependencies of the crate in $folder (once)" >&2
	rm -rf "$crate"
	mkdir -p "$crate/src"
	cp "$folder/Cargo.toml" "$crate"
	cp "$folder/src/main.rs" "$crate/src"
	cargo generate-lockfile --quiet --manifest-path "$crate/Cargo.toml"
	registry=$(grep -m 1 '^source = ' "$crate/Cargo.lock")
	awk -v registry="$registry" '/^checksum = / { print registry } { print }' "$folder/Cargo.lock" >"$crate/Cargo.lock"
	cargo build --quiet --locked --manifest-path "$crate/Cargo.toml" >&2
	touch "$crate/ready"
fi
[ $# -gt 0 ] || exit 0
cp "$1" "$crate/src/main.rs"
shift
exec cargo run --quiet --offline --locked --manifest-path "$crate/Cargo.toml" -- "$@"
