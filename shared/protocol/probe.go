package protocol

// ServerVersion is the answer to GET /version, which needs no credentials. No specification has
// it; other servers do not know the path.
type ServerVersion struct {
	Version       string `json:"version"`
	Specification string `json:"specification"`
	// IdempotencyKeys reports whether a write that is sent twice with the same header Idempotency-Key
	// happens once.
	IdempotencyKeys bool `json:"idempotency_keys"`
}
