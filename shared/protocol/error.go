package protocol

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Code is the kind of an error as the public specification numbers it. Programs act on
// the code; people read the message.
type Code int

// The codes of the specification.
const (
	Unsupported                Code = 0
	NamespaceNotFound          Code = 1
	NamespaceAlreadyExists     Code = 2
	NamespaceNotEmpty          Code = 3
	TableNotFound              Code = 4
	TableAlreadyExists         Code = 5
	TableIndexNotFound         Code = 6
	TableIndexAlreadyExists    Code = 7
	TableTagNotFound           Code = 8
	TableTagAlreadyExists      Code = 9
	TransactionNotFound        Code = 10
	TableVersionNotFound       Code = 11
	TableColumnNotFound        Code = 12
	InvalidInput               Code = 13
	ConcurrentModification     Code = 14
	PermissionDenied           Code = 15
	Unauthenticated            Code = 16
	ServiceUnavailable         Code = 17
	Internal                   Code = 18
	InvalidTableState          Code = 19
	TableSchemaValidationError Code = 20
	Throttling                 Code = 21
	TableBranchNotFound        Code = 22
	TableBranchAlreadyExists   Code = 23
)

var codeNames = [...]string{
	"Unsupported", "NamespaceNotFound", "NamespaceAlreadyExists", "NamespaceNotEmpty",
	"TableNotFound", "TableAlreadyExists", "TableIndexNotFound", "TableIndexAlreadyExists",
	"TableTagNotFound", "TableTagAlreadyExists", "TransactionNotFound", "TableVersionNotFound",
	"TableColumnNotFound", "InvalidInput", "ConcurrentModification", "PermissionDenied",
	"Unauthenticated", "ServiceUnavailable", "Internal", "InvalidTableState",
	"TableSchemaValidationError", "Throttling", "TableBranchNotFound", "TableBranchAlreadyExists",
}

// String returns the name of the code as the specification writes it.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codeNames) {
		return fmt.Sprintf("Code(%d)", int(c))
	}
	return codeNames[c]
}

// Error returns the name of the code. It makes a code a target of errors.Is, which finds it in an
// [Error] with that code:
//
//	if errors.Is(err, protocol.TableNotFound) { … }
//
// A code alone is not returned as an error.
func (c Code) Error() string { return c.String() }

// Error is a failure that the caller is told about. Message and Detail travel to the
// client, so they name what the client sent and nothing of the inside; Err is the cause,
// for the log only.
type Error struct {
	Code      Code
	Object    string // what the request was about: "movies$reviews", "index emb_idx"; may be empty
	Message   string // one line; the name of the code when empty
	Logged    string // Message as the log has it, without values that Message quotes; Message when empty
	Kind      string // last part of the type of the problem, for what the codes have no name for; empty: that of Code
	TooLarge  bool   // a size limit was exceeded: 413
	Damaged   bool   // the object is there, and cannot be read: 422, since no repetition helps
	Unsettled bool   // the change may have been made all the same: not to be repeated unseen
	Detail    string // more for people: accepted values, what to do next; may be empty
	Err       error  // the cause; may be nil
}

// WrittenByNewer is the kind of the error for a stored object that only a newer release understands.
// Its code is [ServiceUnavailable].
const WrittenByNewer = "written-by-newer"

// These are the kinds of errors about secrets and functions. They share the codes of the same errors
// about tables.
const (
	FunctionNotFound    = "function-not-found"
	SecretNotFound      = "secret-not-found"
	SecretAlreadyExists = "secret-already-exists"
)

// Errorf returns an Error with a formatted message. An operand of %w becomes the cause, and its
// text becomes part of the message, so it must be suitable for clients.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Text returns the line for the client: the object, if there is one, and the message.
func (e *Error) Text() string {
	message := e.Message
	if message == "" {
		message = e.Code.String()
	}
	if e.Object == "" {
		return message
	}
	return e.Object + ": " + message
}

// Error is Text followed by the cause. Logs have [LogText].
func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Message {
		return e.Text()
	}
	return e.Text() + ": " + e.Err.Error()
}

// LogText returns the text of an error for logs, which must not contain values of rows or literals
// of requests. For each error in the chain it replaces Message by Logged, and the text of Error by
// that of LogText, if it has this method. URLs in errors of HTTP clients lose their user
// information and their query.
func LogText(err error) string { return redact(err.Error(), err) }

// redact walks the chain of causes itself, link by link.
func redact(text string, err error) string {
	switch e := err.(type) { //nolint:errorlint // this link of the chain
	case *Error:
		if e.Logged != "" && e.Message != "" {
			text = strings.ReplaceAll(text, e.Message, e.Logged)
		}
	case interface{ LogText() string }:
		text = strings.ReplaceAll(text, err.Error(), e.LogText())
	case *url.Error:
		text = strings.ReplaceAll(text, e.URL, bareURL(e.URL))
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return redact(text, cause)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			text = redact(text, cause)
		}
	}
	return text
}

// bareURL returns a URL without the parts that may be secret, or "" if text is not a URL.
func bareURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
}

// Is reports whether target is the code of the error.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first Error in the chain of err, or Internal if there is none. err
// must not be nil.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// HasCode reports whether the code of err is one of codes. It is false for nil.
func HasCode(err error, codes ...Code) bool {
	return err != nil && slices.Contains(codes, CodeOf(err))
}

// Ignore returns nil for an error that has one of the codes, and err otherwise.
func Ignore(err error, codes ...Code) error {
	if HasCode(err, codes...) {
		return nil
	}
	return err
}
