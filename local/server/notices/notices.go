// Package notices contains the licences of the third-party works in the program: Go modules and
// data. The command collect generates the file; go generate runs it.
package notices

import _ "embed"

//go:generate go run ./collect THIRD_PARTY_NOTICES.txt

//go:embed THIRD_PARTY_NOTICES.txt
var text string

// Text returns the notices: the text of each licence, below the names of its works.
func Text() string { return text }
