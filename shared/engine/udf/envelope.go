package udf

import (
	"encoding/json"
	"fmt"

	"tiltyard/shared/protocol"
)

// Envelope is the kind of the runtime and the artifact of functions that clients serialize. Only the
// library that made an envelope can decode it. The runtime is the JSON of an [EnvelopeRuntime].
const Envelope = "envelope"

// An EnvelopeRuntime holds the requirements of an envelope.
type EnvelopeRuntime struct {
	Kind    string `json:"kind"`            // Envelope
	Backend string `json:"backend"`         // the library that can load it, under its client's name
	Batch   bool   `json:"batch,omitempty"` // it takes several rows at once
}

// RuntimeOf returns the runtime declaration of an envelope for a backend.
func RuntimeOf(backend string) []byte {
	text, _ := json.Marshal(EnvelopeRuntime{Kind: Envelope, Backend: backend}) // a struct of texts has JSON
	return text
}

// NoBackend returns the error for an envelope that no executor here can run.
func NoBackend(backend string) error {
	return &protocol.Error{
		Code:    protocol.Unsupported,
		Message: fmt.Sprintf("no executor of this deployment runs functions of the backend %.80q", backend),
		Detail:  "its operator configures one that does: TILTYARD_EXECUTOR with the option backends",
	}
}
