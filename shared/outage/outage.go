// Package outage holds the error of a service that this program depends on, such as S3 or DynamoDB, while it is
// overloaded, out of reach, or lacks the bucket or the table that the program was configured with. The clients of such
// services return it after their last attempt. It is not the fault of a request, and the same request may succeed later.
package outage

import "errors"

// An Error is the failure of a service.
type Error struct {
	Message string // for users: "DynamoDB is overloaded or out of reach"
	Err     error  // of the last attempt
}

// Busy returns the error of a service that answers that it is overloaded, or not at all.
func Busy(service string, err error) *Error {
	return &Error{service + " is overloaded or out of reach", err}
}

// Missing returns the error of a service that lacks what it is asked for, such as "S3 bucket tables".
func Missing(what string, err error) *Error {
	return &Error{what + " does not exist", err}
}

// Error returns the message and the cause.
func (e *Error) Error() string { return e.Message + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Of returns the first outage in the chain of err, nil when there is none.
func Of(err error) *Error {
	var found *Error
	if errors.As(err, &found) {
		return found
	}
	return nil
}
