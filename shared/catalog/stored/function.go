package stored

import (
	"encoding/json"
	"time"
)

// Function is the stored form of a function. Version n is at index n-1. Versions never change,
// except that they become proved.
type Function struct {
	ID       []string          `json:"id"`
	UID      string            `json:"uid"` // distinguishes it from earlier and later functions of the name
	Created  time.Time         `json:"created_at"`
	Versions []FunctionVersion `json:"versions"`
}

// A FunctionVersion is a version of a function.
type FunctionVersion struct {
	Created    time.Time       `json:"created_at"`
	Digest     string          `json:"digest"`     // of the definition
	Definition json.RawMessage `json:"definition"` // a functionapi.Definition
	Artifact   string          `json:"artifact"`   // key of the content of the artifact
	Proved     bool            `json:"proved,omitempty"`
}

// Identity returns the UID.
func (r *Function) Identity() string { return r.UID }
