package stored

import (
	"time"

	"tiltyard/shared/sealing"
)

// Secret is the stored form of a secret. Its value is sealed for the id.
type Secret struct {
	ID      []string       `json:"id"`
	UID     string         `json:"uid"` // distinguishes it from earlier and later secrets of the name
	Created time.Time      `json:"created_at"`
	Updated time.Time      `json:"updated_at"` // when the value was last replaced; every replacement moves it
	Sealed  sealing.Sealed `json:"sealed"`
}

// Identity returns the UID.
func (r *Secret) Identity() string { return r.UID }
