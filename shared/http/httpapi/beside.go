package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"tiltyard/shared/protocol"
)

// Beside serves a request of a program that is no operation of the protocol, such as signing in to the console of a
// server. An error of serve is answered as an error of an operation is, with the id of the request. serve must not have
// written an answer when it returns an error.
func Beside(serve func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	h := &handler{Options: Options{}.withDefaults()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{handler: h, w: &responseWriter{ResponseWriter: w, stall: h.StallTimeout}, r: r, clientErr: r.Context().Err, requestID: h.chooseRequestID(r)}
		r.Header.Set("X-Request-Id", c.requestID) // for the lines that serve logs
		w.Header().Set("X-Request-Id", c.requestID)
		w.Header().Set("Cache-Control", "no-store")
		if err := serve(c.w, r); err != nil {
			c.writeProblem(err)
		}
	})
}

// Credential returns the token of a request, from Authorization or x-api-key. The error is for the sender.
func Credential(r *http.Request) (token string, err error) {
	token, ok, err := headerToken(r.Header)
	if err == nil && !ok {
		err = errNoCredentials
	}
	return token, err
}

// MethodNotAllowed is the error for a known path with another method than the allowed ones.
func MethodNotAllowed(r *http.Request, allowed ...string) error {
	return wrongMethod(r.Method, allowed)
}

// WriteJSON answers with a value as JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) error {
	body, err := encodeJSON(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", contentTypeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has disconnected needs no answer
	return nil
}

// ReadJSON decodes a JSON body of at most limit bytes. The error is for the sender, and contains none of the body.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64, value any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		err = json.Unmarshal(body, value)
	}
	if err != nil {
		return &protocol.Error{Code: protocol.InvalidInput, Message: fmt.Sprintf("the body must be one JSON object of at most %d bytes, with the fields of the request", limit)}
	}
	return nil
}
