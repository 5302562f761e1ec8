#!/bin/sh
# Run a command with the npm packages of a folder: scripts/npm.sh infra cdk --version
#
# The script installs the packages of the folder's package-lock.json into .tools, once. It uses a pinned
# Node if the folder's package.json pins one in "engines", or if the installed Node is older than 22; this
# needs npm as well.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
mkdir -p .tools
tools=$(cd .tools && pwd -P) # npm ci refuses a folder behind a symbolic link
packages=$tools/npm-$(cksum <"$folder/package-lock.json" | cut -d ' ' -f 1)

if ! command -v npm >/dev/null; then
	echo "npm, which comes with Node, is needed for the packages of $folder" >&2
	exit 1
fi
if [ ! -e "$packages/ready" ]; then
	echo "installing the packages of $folder (once)" >&2
	rm -rf "$packages"
	mkdir -p "$packages"
	cp "$folder/package.json" "$folder/package-lock.json" "$packages"
	npm ci --prefix "$packages" --no-audit --no-fund --loglevel=error >&2
	touch "$packages/ready"
fi
node=$(node -p "require('./$folder/package.json').engines?.node ?? ''")
if [ -z "$node" ] && [ "$(node -p 'parseInt(process.versions.node)')" -lt 22 ]; then
	node=24.21.0
fi
if [ -n "$node" ]; then
	own=$tools/node-$node
	if [ ! -e "$own/ready" ]; then
		echo "installing Node $node (once)" >&2
		npm install --prefix "$own" --no-save --no-audit --no-fund --loglevel=error \
			"node-$(node -p 'process.platform + "-" + process.arch')@$node" >&2
		touch "$own/ready"
	fi
	PATH=$own/node_modules/.bin:$PATH
fi
export PATH="$packages/node_modules/.bin:$PATH" NODE_PATH="$packages/node_modules"
exec "$@"
