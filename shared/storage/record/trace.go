package record

// A Trace is stored with each record. By it a writer recognizes its own write, and the write that
// followed it. It needs that when an answer was lost, and when a client library repeats a request
// and reports a conflict with its own first try.
type Trace struct {
	Write string `json:"write"`           // random name of this write
	After string `json:"after,omitempty"` // name of the write that it replaced; "" for none
}

// Settle compares the trace of a write with the trace found under the key. It returns nil if the write
// succeeded, even if another one followed; ErrConflict if another write took its place; and
// ErrUnknownOutcome if the traces do not decide.
func (t Trace) Settle(found Trace) error {
	switch {
	case found.Write == t.Write, found.After == t.Write:
		return nil
	case found.After == t.After:
		return ErrConflict
	}
	return ErrUnknownOutcome
}
