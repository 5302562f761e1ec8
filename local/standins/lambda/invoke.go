package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"tiltyard/local/standins/gateway"
	"tiltyard/local/standins/runtimeapi"
)

// maxEventBytes is the longest event of a synchronous call, and the longest answer.
const maxEventBytes = 6 << 20

// patience is how long a call waits for an instance before it is refused. Lambda refuses at once; but an instance of this
// stand-in ends a call a little after its answer.
const patience = 50 * time.Millisecond

// invocations serves the operation Invoke of Lambda's API for functions by name, without checking signatures.
func invocations(functions map[string]gateway.Function) http.Handler {
	refuse := func(w http.ResponseWriter, status int, kind, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Amzn-ErrorType", kind)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"Message": message}) // the caller may have gone
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", func(w http.ResponseWriter, r *http.Request) {
		function, found := functions[r.PathValue("name")]
		if !found {
			refuse(w, http.StatusNotFound, "ResourceNotFoundException", "no function "+r.PathValue("name"))
			return
		}
		event, err := io.ReadAll(io.LimitReader(r.Body, maxEventBytes+1))
		if err != nil || len(event) > maxEventBytes {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", "the event is too long")
			return
		}
		waiting, cancel := context.WithTimeout(r.Context(), patience)
		answer, err := function.Invoke(waiting, event)
		cancel()
		var failed *runtimeapi.Error
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			refuse(w, http.StatusTooManyRequests, "TooManyRequestsException", "all instances are busy")
		case err == nil && len(answer) > maxEventBytes:
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorType":"Function.ResponseSizeTooLarge"}`)
		case err == nil:
			_, _ = w.Write(answer)
		case errors.As(err, &failed):
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, failed.Message)
		default:
			refuse(w, http.StatusInternalServerError, "ServiceException", err.Error())
		}
	})
	return mux
}
