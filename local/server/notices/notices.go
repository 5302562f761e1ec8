// Package notices holds the licences of the works of others that the program contains: Go modules, and
// data. collect makes the file from the sources of the modules; go generate runs it.
package notices

import _ "embed"

//go:generate go run ./collect THIRD_PARTY_NOTICES.txt

//go:embed THIRD_PARTY_NOTICES.txt
var text string

// Text returns the notices: for each licence its text, below the names of the works that it is for.
func Text() string { return text }
