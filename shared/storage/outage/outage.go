// Package outage defines the error for an unavailable dependency, such as S3 or DynamoDB: overloaded,
// unreachable, or without the configured bucket or table. Clients of such services return it after their
// last attempt. It is not the request's fault, and the same request may succeed later.
package outage

import "errors"

// An Error is the failure of a service.
type Error struct {
	Message string // for users: "DynamoDB is overloaded or out of reach"
	Err     error  // of the last attempt
}

// Busy returns the error for a service that reports an overload, or does not answer.
func Busy(service string, err error) *Error {
	return &Error{service + " is overloaded or out of reach", err}
}

// Missing returns the error for a missing resource of a service, such as "S3 bucket tables".
func Missing(what string, err error) *Error {
	return &Error{what + " does not exist", err}
}

// Error returns the message and the cause.
func (e *Error) Error() string { return e.Message + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the first outage in the chain of err, or nil.
func Of(err error) *Error {
	var found *Error
	if errors.As(err, &found) {
		return found
	}
	return nil
}
