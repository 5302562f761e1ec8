package arrowipc

import (
	"errors"
	"fmt"
)

// What is wrong with a stream, in kind. Errors that the underlying io.Reader returned
// are none of these: they are passed on, wrapped.
var (
	// ErrInvalid says that the bytes are not a well-formed Arrow IPC stream.
	ErrInvalid = errors.New("invalid arrow stream")
	// ErrTooLarge says that a message is larger than the reader's limits allow.
	ErrTooLarge = errors.New("arrow stream exceeds a limit")
	// ErrUnsupported says that a stream uses a type or feature that is not read.
	ErrUnsupported = errors.New("unsupported in an arrow stream")
)

// An Error says what is wrong with a stream, and where. Its text is meant for the
// person who sent the stream.
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

// These make errors about the field of n, or about none when that is nil. The number of
// the message is filled in by the Reader, the one place that knows it.

func invalid(n *node, format string, args ...any) error {
	return &Error{Kind: ErrInvalid, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

func tooLarge(n *node, format string, args ...any) error {
	return &Error{Kind: ErrTooLarge, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

func unsupported(n *node, format string, args ...any) error {
	return &Error{Kind: ErrUnsupported, Column: n.path(), Reason: fmt.Sprintf(format, args...)}
}

// quoted keeps a hostile name from filling a log or an answer.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}
