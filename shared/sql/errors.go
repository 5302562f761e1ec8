package sql

import (
	"errors"
	"fmt"
)

// Kinds of errors. Each error of an expression is an *Error that wraps one of them.
var (
	// ErrSyntax means that the text is not an expression.
	ErrSyntax = errors.New("invalid sql expression")
	// ErrUnknownColumn means that a column, or a field of a struct, does not exist.
	ErrUnknownColumn = errors.New("unknown column")
	// ErrType means that an operator or function does not accept the types of its operands.
	ErrType = errors.New("type mismatch in sql expression")
	// ErrUnsupported means that a part of the dialect, a function or a type is not
	// implemented. The message names it.
	ErrUnsupported = errors.New("unsupported sql expression")
	// ErrTooLarge means that the expression, or one of its values, exceeds a limit.
	ErrTooLarge = errors.New("sql expression too large")
	// ErrValue means that a value cannot be computed: a division by zero, an overflow, a
	// cast of text that is not a number, a regular expression that does not compile.
	ErrValue = errors.New("cannot compute sql expression")
)

// An Error is a failure to parse, bind or evaluate an expression. It may quote the
// expression, but never a value of a row.
type Error struct {
	Pos  int    // byte offset in the text of the expression, or NoPos
	Msg  string // the cause, without the kind
	kind error
}

// Error returns the message with its position in the expression, if known. An error of a conversion outside
// an expression has no position.
func (e *Error) Error() string {
	if e.Pos < 0 {
		return fmt.Sprintf("%v: %s", e.kind, e.Msg)
	}
	return fmt.Sprintf("%v at byte %d: %s", e.kind, e.Pos, e.Msg)
}

// LogText returns the error without the message, which may quote literals of the
// expression.
func (e *Error) LogText() string {
	if e.Pos < 0 {
		return e.kind.Error()
	}
	return fmt.Sprintf("%v at byte %d", e.kind, e.Pos)
}

// Unwrap returns the kind: ErrSyntax, ErrUnknownColumn, ErrType, ErrUnsupported,
// ErrTooLarge or ErrValue.
func (e *Error) Unwrap() error { return e.kind }

// Errorf returns an Error of a kind at a byte offset of the expression, or at NoPos.
func Errorf(kind error, pos int, format string, args ...any) error {
	return &Error{Pos: pos, Msg: fmt.Sprintf(format, args...), kind: kind}
}

// At sets the position of an error that has none. Kernels return errors without position, because they do
// not have the node.
func At(err error, pos int) error {
	var e *Error
	if errors.As(err, &e) && e.Pos < 0 {
		return &Error{Pos: pos, Msg: e.Msg, kind: e.kind}
	}
	return err
}

// Moved returns the error with another position.
func (e *Error) Moved(pos int) *Error { return &Error{Pos: pos, Msg: e.Msg, kind: e.kind} }

// NoPos marks an error whose caller sets the position with At.
const NoPos = -1
