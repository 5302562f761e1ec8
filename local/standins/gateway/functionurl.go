package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
)

// A Streamer is a function whose response can be read while it arrives, such as
// [tiltyard/local/standins/runtimeapi.Function].
type Streamer interface {
	Stream(ctx context.Context, event []byte, take func(contentType string, body io.Reader) error) error
}

// FunctionURL serves all requests with one function, like a function URL with the invoke mode
// RESPONSE_STREAM: paths arrive unchanged, and responses of any length are passed on as they
// arrive. It logs the errors of the function.
func FunctionURL(function Streamer, log *slog.Logger) http.Handler {
	return &functionURL{function: function, log: log}
}

type functionURL struct {
	function Streamer
	log      *slog.Logger
}

// ServeHTTP passes one request to the function.
func (u *functionURL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, status := newEvent(r, r.URL.EscapedPath())
	if status != 0 {
		refuse(w, status)
		return
	}
	event.RouteKey, event.RequestContext.RouteKey = "$default", "$default"
	event.RequestContext.DomainName = "local.lambda-url.us-east-1.on.aws"
	payload, err := json.Marshal(event)
	if err != nil || len(payload) > maxPayloadBytes {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	begun := false
	err = u.function.Stream(r.Context(), payload, func(contentType string, body io.Reader) error {
		answer := bufio.NewReader(body)
		if err := readPrelude(w, contentType, answer); err != nil {
			return err
		}
		begun = true
		return forward(w, answer)
	})
	switch {
	case err == nil:
	case r.Context().Err() != nil: // the client has disconnected
	case begun:
		u.log.ErrorContext(r.Context(), "answer broke off", "path", event.RawPath, "error", err)
		panic(http.ErrAbortHandler)
	default:
		u.log.ErrorContext(r.Context(), "function failed", "path", event.RawPath, "error", err)
		refuse(w, http.StatusBadGateway)
	}
}

// maxPreludeBytes bounds the status and the headers.
const maxPreludeBytes = 64 << 10

// readPrelude reads the metadata before the body, which end with eight zero bytes. If the response
// lacks the content type for this, it consists of the body only.
func readPrelude(w http.ResponseWriter, contentType string, answer *bufio.Reader) error {
	if contentType != "application/vnd.awslambda.http-integration-response" {
		w.Header().Set("Content-Type", "application/octet-stream")
		return nil
	}
	var text []byte
	end := make([]byte, 8)
	for !bytes.HasSuffix(text, end) {
		b, err := answer.ReadByte()
		if err != nil {
			return fmt.Errorf("read the prelude: %w", err)
		}
		if text = append(text, b); len(text) > maxPreludeBytes {
			return errors.New("the prelude does not end")
		}
	}
	var prelude struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
	}
	if err := json.Unmarshal(bytes.TrimSuffix(text, end), &prelude); err != nil {
		return fmt.Errorf("read the prelude: %w", err)
	}
	for name, value := range prelude.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(prelude.StatusCode)
	return nil
}

// forward sends each piece as it arrives.
func forward(w http.ResponseWriter, answer io.Reader) error {
	out := http.NewResponseController(w)
	piece := make([]byte, 64<<10)
	for {
		n, err := answer.Read(piece)
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
