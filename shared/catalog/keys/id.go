package keys

import (
	"slices"
	"strings"
)

// Display returns an id as text for messages.
func Display(id []string) string {
	if len(id) == 0 {
		return "the root namespace"
	}
	return strings.Join(id, "$")
}

// IsRoot reports whether an id is the root namespace.
func IsRoot(id []string) bool { return len(id) == 0 }

// Parent returns the id of the namespace that contains an object. The root has none.
func Parent(id []string) []string { return id[:len(id)-1] }

// Child returns the id of a name in a namespace, in newly allocated memory.
func Child(parent []string, name string) []string {
	return append(append(make([]string, 0, len(parent)+1), parent...), name)
}

// Inside reports whether an id equals the id of a namespace or is inside it.
func Inside(id, namespace []string) bool {
	return len(id) >= len(namespace) && slices.Equal(id[:len(namespace)], namespace)
}
