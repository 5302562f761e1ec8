package objects

import (
	"encoding/json"

	"tiltyard/shared/storage/objectstore"
)

// A LIST returns the sizes of objects but not their contents. The state of an object is in its
// fields. One bit of the state is also visible in the size, which is odd or even, so that a LIST
// shows which objects must be read.

// A Marker is an object that a LIST shows as marked or not. Its stored form has an odd number of
// bytes if it is marked, and an even number if not. If necessary, a space is appended.
type Marker interface{ Marked() bool }

// Marked reports whether a listed object, which was written from a [Marker], is marked.
func Marked(listed objectstore.Info) bool { return listed.Size%2 != 0 }

// encode returns the stored form of an object.
func encode(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if m, ok := object.(Marker); ok && (len(data)%2 != 0) != m.Marked() {
		data = append(data, ' ')
	}
	return data, nil
}
