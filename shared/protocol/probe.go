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

// StoreState is the answer to GET /storez, which needs credentials. No specification has this request.
type StoreState struct {
	Status string `json:"status"`           // trusted, or not trusted
	Reason string `json:"reason,omitempty"` // what the store does not keep, or why it could not be asked
}
