package sample

import (
	"bytes"
	"io"
	"net/http"

	"tiltyard/shared/client"
	"tiltyard/shared/http/httpapi"
)

// Path is the path of the sample below the base path of the server.
const Path = "/console/sample"

// Handler serves the sample at [Path]. GET answers that the server has it. POST makes it by requests to operations, with
// the token of the sender, and answers with the id of the table; 409 if it exists.
func Handler(operations http.Handler, basePath string) http.Handler {
	return httpapi.Beside(func(w http.ResponseWriter, r *http.Request) error {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			return httpapi.WriteJSON(w, http.StatusOK, struct {
				Available bool `json:"available"`
			}{true})
		case http.MethodPost:
			return load(w, r, operations, basePath)
		}
		return httpapi.MethodNotAllowed(r, http.MethodGet, http.MethodPost)
	})
}

func load(w http.ResponseWriter, r *http.Request, operations http.Handler, basePath string) error {
	token, err := httpapi.Credential(r)
	if err != nil {
		return err
	}
	c, err := Client(operations, basePath, token, r.RemoteAddr)
	if err != nil {
		return err
	}
	if err := Load(r.Context(), c); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, struct {
		Table []string `json:"table"`
	}{Table})
}

// Client returns a client of a handler in this process. remote is the address of the sender for the audit.
func Client(operations http.Handler, basePath, token, remote string) (*client.Client, error) {
	return client.New("http://localhost"+basePath, client.Options{Token: token, Transport: within{operations, remote}})
}

// within is a transport to a handler in this process.
type within struct {
	handler http.Handler
	remote  string
}

// RoundTrip lets the handler serve a request. It returns an error where the handler would end the connection.
func (t within) RoundTrip(r *http.Request) (response *http.Response, err error) {
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler {
			response, err = nil, http.ErrAbortHandler
		} else if cause != nil {
			panic(cause)
		}
	}()
	request := r.Clone(r.Context())
	request.RemoteAddr = t.remote
	if request.Body == nil {
		request.Body = http.NoBody
	}
	a := &answer{header: http.Header{}}
	t.handler.ServeHTTP(a, request)
	err = request.Body.Close() // as transports do
	a.WriteHeader(http.StatusOK)
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, err
}

// answer is a response in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
