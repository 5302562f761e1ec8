package flightsql

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
)

// grpcCodes maps the codes of refusals to those of gRPC.
var grpcCodes = map[protocol.Code]codes.Code{
	protocol.Unsupported:                codes.Unimplemented,
	protocol.NamespaceNotFound:          codes.NotFound,
	protocol.NamespaceAlreadyExists:     codes.AlreadyExists,
	protocol.NamespaceNotEmpty:          codes.FailedPrecondition,
	protocol.TableNotFound:              codes.NotFound,
	protocol.TableAlreadyExists:         codes.AlreadyExists,
	protocol.TableIndexNotFound:         codes.NotFound,
	protocol.TableIndexAlreadyExists:    codes.AlreadyExists,
	protocol.TableTagNotFound:           codes.NotFound,
	protocol.TableTagAlreadyExists:      codes.AlreadyExists,
	protocol.TransactionNotFound:        codes.NotFound,
	protocol.TableVersionNotFound:       codes.NotFound,
	protocol.TableColumnNotFound:        codes.NotFound,
	protocol.InvalidInput:               codes.InvalidArgument,
	protocol.ConcurrentModification:     codes.Aborted,
	protocol.PermissionDenied:           codes.PermissionDenied,
	protocol.Unauthenticated:            codes.Unauthenticated,
	protocol.ServiceUnavailable:         codes.Unavailable,
	protocol.Internal:                   codes.Internal,
	protocol.InvalidTableState:          codes.FailedPrecondition,
	protocol.TableSchemaValidationError: codes.InvalidArgument,
	protocol.Throttling:                 codes.ResourceExhausted,
	protocol.TableBranchNotFound:        codes.NotFound,
	protocol.TableBranchAlreadyExists:   codes.AlreadyExists,
}

// statusOf turns the error of a request into the error of the call. Refusals keep their text and name the request, whose
// line in the log has more.
func statusOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if refusal := (*client.Error)(nil); errors.As(err, &refusal) {
		return status.Error(codeOf(refusal), textOf(refusal))
	}
	switch ended := context.Cause(ctx); {
	case errors.Is(ended, errTooSlow):
		return status.Error(codes.DeadlineExceeded, errTooSlow.Error())
	case ended != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}

// codeOf returns the gRPC code of a refusal.
func codeOf(refusal *client.Error) codes.Code {
	switch refusal.Status {
	case http.StatusRequestEntityTooLarge, http.StatusInsufficientStorage:
		return codes.ResourceExhausted
	case http.StatusUnprocessableEntity:
		return codes.DataLoss
	}
	return grpcCodes[protocol.CodeOf(refusal)]
}

// textOf returns the message of a refusal.
func textOf(refusal *client.Error) string {
	var known *protocol.Error
	if !errors.As(refusal, &known) {
		return refusal.Error()
	}
	text := known.Message
	if known.Detail != "" {
		text += ": " + known.Detail
	}
	return text + " (request " + refusal.RequestID + ")"
}

// invalid returns the error of a malformed message.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// unsupported returns the error of a part of Flight SQL that this server lacks.
func unsupported(format string, args ...any) error {
	return status.Errorf(codes.Unimplemented, format, args...)
}
