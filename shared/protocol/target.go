package protocol

import "strings"

// A Target is a table or a namespace that a request works on beside the object in its path: whoever sends
// the request must be allowed the operation there, too.
type Target struct {
	Operation string // name of what is done to it
	ID        []string
}

// Makes reports whether the operation creates the object in its path, so that the path need not
// exist before.
func (o Operation) Makes() bool {
	_, verb, _ := strings.Cut(o.Path, "/{id}/")
	switch verb {
	case "create", "register", "declare", "clone":
		return true
	}
	return false
}
