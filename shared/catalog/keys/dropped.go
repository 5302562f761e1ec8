package keys

// Dropped is the first name of the ids of dropped tables and namespaces that can be restored. Requests
// cannot name it, because no name has the delimiter of ids in it.
const Dropped = "$dropped"

// DroppedID returns the id of what a drop has set aside.
func DroppedID(drop string) []string { return []string{Dropped, drop} }

// IsDropped reports whether an id is one of [DroppedID].
func IsDropped(id []string) bool { return len(id) > 0 && id[0] == Dropped }
