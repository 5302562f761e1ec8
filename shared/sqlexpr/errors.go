package sqlexpr

import (
	"errors"
	"fmt"
)

// Kinds of failure. Every error of this package is an *Error that wraps one of them.
var (
	// ErrSyntax says that the text is not an expression.
	ErrSyntax = errors.New("invalid sql expression")
	// ErrUnknownColumn says that a column, or a field of a struct, does not exist.
	ErrUnknownColumn = errors.New("unknown column")
	// ErrType says that an operator or function does not accept the types it was given.
	ErrType = errors.New("type mismatch in sql expression")
	// ErrUnsupported names a part of the dialect, a function or a type that is not
	// implemented.
	ErrUnsupported = errors.New("unsupported sql expression")
	// ErrTooLarge says that the expression exceeds one of the Limits.
	ErrTooLarge = errors.New("sql expression too large")
	// ErrValue says that a value cannot be computed: a division by zero, an overflow, a
	// cast of text that is not a number, a regular expression that does not compile.
	ErrValue = errors.New("cannot compute sql expression")
)

// An Error is a failure to parse, bind or evaluate an expression. It may quote the
// expression, and never a value of a row.
type Error struct {
	Pos  int    // byte offset in the text given to Parse
	Msg  string // what is wrong, without the kind
	kind error
}

// Error returns the message with its position. What converts values without an expression
// knows none.
func (e *Error) Error() string {
	if e.Pos < 0 {
		return fmt.Sprintf("%v: %s", e.kind, e.Msg)
	}
	return fmt.Sprintf("%v at byte %d: %s", e.kind, e.Pos, e.Msg)
}

// LogText is Error without the message, which may quote literals of the expression.
func (e *Error) LogText() string {
	if e.Pos < 0 {
		return e.kind.Error()
	}
	return fmt.Sprintf("%v at byte %d", e.kind, e.Pos)
}

// Unwrap returns the kind: ErrSyntax, ErrUnknownColumn, ErrType, ErrUnsupported,
// ErrTooLarge or ErrValue.
func (e *Error) Unwrap() error { return e.kind }

func errorf(kind error, pos int, format string, args ...any) error {
	return &Error{Pos: pos, Msg: fmt.Sprintf(format, args...), kind: kind}
}

// named is a value of v for an error. A constant stands in the expression and is quoted,
// shortened; of one that may be that of a row the type is named.
func (v vec) named(value any) string {
	if !v.konst {
		return "a value of type " + v.typ.String()
	}
	if text, ok := value.([]byte); ok {
		return fmt.Sprintf("%.40q", text)
	}
	return fmt.Sprintf("value %v", value)
}

// at gives an error of a kernel, which knows no position, the position of its node.
func at(err error, pos int) error {
	var e *Error
	if errors.As(err, &e) && e.Pos < 0 {
		return &Error{Pos: pos, Msg: e.Msg, kind: e.kind}
	}
	return err
}

// noPos marks errors whose position the caller fills in with at.
const noPos = -1
