package transaction

import (
	"strings"

	"tiltyard/shared/protocol/auth"
)

// ObjectOf returns what a job or a change of a kind is about. For a transaction on several tables it is the root.
func ObjectOf(kind string, id []string) auth.Object {
	if len(id) == 0 || strings.HasSuffix(kind, "namespace") { // such as "create-namespace"
		return auth.Namespace(id)
	}
	if strings.HasSuffix(kind, "_function") {
		return auth.Function(id)
	}
	return auth.Table(id)
}
