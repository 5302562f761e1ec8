package stored

import "time"

// Namespace is the stored form of a namespace. The root has no record.
type Namespace struct {
	ID         []string          `json:"id"`
	UID        string            `json:"uid"` // distinguishes it from earlier and later namespaces of the name
	Properties map[string]string `json:"properties,omitempty"`
	Created    time.Time         `json:"created_at"`
	Dropping   *DropMark         `json:"dropping,omitempty"`
	// Restored is when the namespace was restored after a drop.
	Restored time.Time `json:"restored_at,omitzero"`
	// Dropped is nil in the record of a namespace that stands.
	Dropped *Drop `json:"dropped,omitempty"`
}

// A DropMark means that a caller is dropping the namespace, until the given time.
type DropMark struct {
	By    string    `json:"by"` // unique per drop
	Until time.Time `json:"until"`
}

// Identity returns the UID.
func (r *Namespace) Identity() string { return r.UID }
