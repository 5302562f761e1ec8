package transaction

import (
	"strings"

	"tiltyard/shared/protocol/auth"
)

// ObjectOf returns the object on which a job or a change of a kind works, for access checks. It is the root namespace for
// a transaction on several tables.
func ObjectOf(kind string, id []string) auth.Object {
	if len(id) == 0 || strings.HasSuffix(kind, "namespace") { // such as "create-namespace"
		return auth.Namespace(id)
	}
	if strings.HasSuffix(kind, "_function") {
		return auth.Function(id)
	}
	return auth.Table(id)
}
