package command

import (
	"context"
	"errors"
	"net/url"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/outage"
)

// The exit codes of the program.
const (
	ExitFailed      = 1   // another error
	ExitUsage       = 2   // the command line is wrong
	ExitNotFound    = 3   // the object does not exist
	ExitConflict    = 4   // the object exists already, is not empty, or was changed concurrently
	ExitDenied      = 5   // the token is missing or wrong, or lacks a permission
	ExitRefused     = 6   // the server refuses the input, or lacks the operation
	ExitUnavailable = 7   // the server cannot be reached, or is too busy
	ExitJob         = 8   // the job failed or was cancelled
	ExitFaults      = 9   // doctor has found faults, and has not fixed them all
	ExitInterrupted = 130 // interrupted by the user
)

// ErrFaults is the error of doctor if faults remain.
var ErrFaults = errors.New("there are faults; each line has a way out")

// ExitCode returns the exit code for the error of a command. It is 0 for nil.
func ExitCode(err error) int {
	var usage *UsageError
	var job *client.JobError
	var refusal *protocol.Error
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, ErrFaults):
		return ExitFaults
	case errors.As(err, &job):
		return ExitJob
	case errors.As(err, &refusal):
		return exitCodeOf(refusal.Code)
	case isUnreachable(err):
		return ExitUnavailable
	}
	return ExitFailed
}

// exitCodeOf returns the exit code for an error code of the protocol.
func exitCodeOf(code protocol.Code) int {
	switch code {
	case protocol.NamespaceNotFound, protocol.TableNotFound, protocol.TableIndexNotFound, protocol.TableTagNotFound,
		protocol.TransactionNotFound, protocol.TableVersionNotFound, protocol.TableColumnNotFound, protocol.TableBranchNotFound:
		return ExitNotFound
	case protocol.NamespaceAlreadyExists, protocol.NamespaceNotEmpty, protocol.TableAlreadyExists, protocol.TableIndexAlreadyExists,
		protocol.TableTagAlreadyExists, protocol.TableBranchAlreadyExists, protocol.ConcurrentModification, protocol.InvalidTableState:
		return ExitConflict
	case protocol.PermissionDenied, protocol.Unauthenticated:
		return ExitDenied
	case protocol.InvalidInput, protocol.TableSchemaValidationError, protocol.Unsupported:
		return ExitRefused
	case protocol.ServiceUnavailable, protocol.Throttling:
		return ExitUnavailable
	}
	return ExitFailed
}

// An advice adds advice in terms of the command line to an error of the server. The server's own
// advice is for callers of the API.
type advice struct {
	error
	text string
}

// Unwrap returns the error of the server.
func (a *advice) Unwrap() error { return a.error }

// advised adds advice to an error, which may be nil, if it has the code.
func advised(err error, code protocol.Code, text string) error {
	if protocol.HasCode(err, code) {
		return &advice{err, text}
	}
	return err
}

// advisedTooLarge adds advice to an error, which may be nil, if a request or its result is too large.
func advisedTooLarge(err error, text string) error {
	var refusal *client.Error
	if errors.As(err, &refusal) && (refusal.Kind == "too-large" || refusal.Kind == "body-too-large") {
		return &advice{err, text}
	}
	return err
}

// beyondGateway reports whether an answer was not delivered, because it is more than the gateway of a function takes.
func beyondGateway(err error) bool {
	var refusal *client.Error
	return errors.As(err, &refusal) && refusal.Kind == "response-too-large"
}

// isUnreachable reports whether the connection to the server failed or timed out.
func isUnreachable(err error) bool {
	var request *url.Error
	return errors.As(err, &request) || errors.Is(err, context.DeadlineExceeded)
}

// Explain returns the text of an error for users: its message and advice.
func Explain(err error) string {
	text := err.Error()
	var refusal *protocol.Error
	var own *advice
	if errors.As(err, &own) {
		text += "\n" + own.text
	} else if errors.As(err, &refusal) && refusal.Detail != "" {
		text += "\n" + refusal.Detail
	}
	var request *client.Error
	if errors.As(err, &request) && errors.As(err, &refusal) && refusal.Code == protocol.Internal && request.RequestID != "" {
		text += "\nthe request is " + request.RequestID
	}
	if exit := ExitCode(err); exit == ExitDenied && errors.Is(err, protocol.Unauthenticated) {
		text += "\ntiltyard login stores a token; TILTYARD_TOKEN is the one of TILTYARD_URL and --url"
	} else if late := (*timeoutError)(nil); exit == ExitUnavailable && refusal == nil && !errors.As(err, &late) && outage.Of(err) == nil {
		text += "\nis the server running? tiltyard serve starts one; --url and tiltyard login name another"
	}
	return printable(text, true)
}
