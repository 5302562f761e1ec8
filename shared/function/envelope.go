package function

import (
	"encoding/json"
	"fmt"

	"tiltyard/shared/protocol"
)

// Envelope is the kind of the runtime, and of the artifact, of functions that came as a client made them:
// only what made an envelope knows its form. The runtime is the JSON of an [EnvelopeRuntime].
const Envelope = "envelope"

// An EnvelopeRuntime is what an envelope needs to run.
type EnvelopeRuntime struct {
	Kind    string `json:"kind"`            // Envelope
	Backend string `json:"backend"`         // what can load it, as its client calls that
	Batch   bool   `json:"batch,omitempty"` // it takes several rows at once
}

// RuntimeOf returns what an envelope of a backend needs to run, as a function declares it.
func RuntimeOf(backend string) []byte {
	text, _ := json.Marshal(EnvelopeRuntime{Kind: Envelope, Backend: backend}) // a struct of texts has JSON
	return text
}

// NoBackend is the error for an envelope that nothing here runs.
func NoBackend(backend string) error {
	return &protocol.Error{
		Code:    protocol.Unsupported,
		Message: fmt.Sprintf("no executor of this deployment runs functions of the backend %.80q", backend),
		Detail:  "its operator configures one that does: TILTYARD_EXECUTOR with the option backends",
	}
}
