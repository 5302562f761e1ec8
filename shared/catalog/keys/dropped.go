package keys

// Dropped is the first name in the ids of dropped tables and namespaces that can be restored.
// Requests cannot name it, because no name contains the delimiter of ids.
const Dropped = "$dropped"

// DroppedID returns the id of a dropped object by the name of its drop.
func DroppedID(drop string) []string { return []string{Dropped, drop} }

// IsDropped reports whether an id was made by [DroppedID].
func IsDropped(id []string) bool { return len(id) > 0 && id[0] == Dropped }
