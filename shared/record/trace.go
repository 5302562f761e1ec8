package record

// A Trace is kept with each record by which a writer recognises what it wrote itself, and
// what came after that: an answer may be lost, and what sends requests again by itself may
// be told that it lost against its own first attempt.
type Trace struct {
	Write string `json:"write"`           // random, of this write
	After string `json:"after,omitempty"` // of the write that it replaced; "" for none
}

// Settle tells from the trace that is found under a key what became of the writer's own
// write: nil when it took place, also when another one followed it; ErrConflict when
// another took its place; ErrUnknownOutcome when that does not tell.
func (t Trace) Settle(found Trace) error {
	switch {
	case found.Write == t.Write, found.After == t.Write:
		return nil
	case found.After == t.After:
		return ErrConflict
	}
	return ErrUnknownOutcome
}
