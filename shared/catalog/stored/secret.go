package stored

import (
	"time"

	"tiltyard/shared/catalog/secretbox"
)

// Secret is the stored form of a secret. The id is authenticated with the encrypted value.
type Secret struct {
	ID      []string         `json:"id"`
	UID     string           `json:"uid"` // distinguishes it from earlier and later secrets of the name
	Created time.Time        `json:"created_at"`
	Updated time.Time        `json:"updated_at"` // time of the last replacement of the value; strictly increasing
	Sealed  secretbox.Sealed `json:"sealed"`
}

// Identity returns the UID.
func (r *Secret) Identity() string { return r.UID }
