#!/bin/sh
# Build a small program of another module with the client, and one with the table library. The other module
# refers to this tree by one replace line, as a module outside of the tree does. The go command follows only the replace
# lines of the main module, so the build fails if the root module requires a module in a folder of this tree.
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# outside builds the program on standard input in an empty module.
outside() {
	mkdir "$work/$1"
	cd "$work/$1"
	cat >main.go
	go mod init "example.com/$1" 2>/dev/null
	go mod edit -replace "tiltyard=$tree"
	go mod tidy >log 2>&1 && go vet . >>log 2>&1 && go build -o program . >>log 2>&1 || {
		cat log
		echo "another module cannot build on the $1" >&2
		exit 1
	}
}

outside client <<'EOF'
package main

import (
	"fmt"

	"tiltyard/shared/client"
)

func main() { fmt.Println(client.New("http://127.0.0.1:10024", client.Options{})) }
EOF
outside dataset <<'EOF'
package main

import (
	"fmt"
	"time"

	"tiltyard/shared/lance/dataset"
)

func main() { fmt.Println(dataset.NewSession(0, time.Now)) }
EOF
