package arrowipc

import (
	"errors"
	"fmt"
)

// The kinds of faults of a stream. Errors of the underlying io.Reader are not among these; they are
// returned wrapped.
var (
	// ErrInvalid means that the bytes are not a well-formed Arrow IPC stream.
	ErrInvalid = errors.New("invalid arrow stream")
	// ErrTooLarge means that a message is larger than the reader's limits allow.
	ErrTooLarge = errors.New("arrow stream exceeds a limit")
	// ErrUnsupported means that a stream uses a type or feature that is not supported.
	ErrUnsupported = errors.New("unsupported in an arrow stream")
)

// An Error is a fault of a stream, with its place. Its text is meant for the sender of the stream.
type Error struct {
	Kind    error  // ErrInvalid, ErrTooLarge or ErrUnsupported
	Message int    // position of the message in the stream; the schema is number 0
	Column  string // dotted path of the column, or empty
	Reason  string
}

func (e *Error) Error() string {
	if e.Column == "" {
		return fmt.Sprintf("%v: message %d: %s", e.Kind, e.Message, e.Reason)
	}
	return fmt.Sprintf("%v: message %d, column %s: %s", e.Kind, e.Message, quoted(e.Column), e.Reason)
}

// Unwrap returns the kind, for errors.Is.
func (e *Error) Unwrap() error { return e.Kind }

// These return errors about the field of n, or about no field if n is nil. The Reader adds the number of
// the message.

func invalid(n *node, format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

func tooLarge(n *node, format string, args ...any) error {
	return &Error{Kind: ErrTooLarge, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

func unsupported(n *node, format string, args ...any) error {
	return &Error{Kind: ErrUnsupported, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

// quoted shortens a name, so that a hostile one cannot fill a log or a response.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}
