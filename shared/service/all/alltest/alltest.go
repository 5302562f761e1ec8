// Package alltest serves all operations over stores in memory, for tests of clients.
package alltest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tiltyard/shared/catalog/result"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/idempotency"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
)

// Token is the token that servers of this package accept.
const Token = "token-of-the-test"

// A Server serves requests until it is closed.
type Server struct {
	URL   string
	Close func()
}

// Serve starts a server with jobs, secrets and idempotency keys, and without a table. wrap, which
// may be nil, wraps the handler.
func Serve(wrap func(http.Handler) http.Handler) (*Server, error) {
	store := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: store})
	if err != nil {
		return nil, err
	}
	verifier, err := auth.NewStatic("test", Token)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "tiltyard")
	if err != nil {
		return nil, err
	}
	keys, err := secretbox.OpenKeyFile(filepath.Join(folder, "keys"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	records := objectrecord.Open(store, time.Now)
	services := all.Open(
		tables.Stores{Objects: roots, Records: records, Now: time.Now, Queue: new(memqueue.Queue)},
		all.Options{Keys: keys, Logger: slog.New(slog.DiscardHandler)},
	)
	handler := httpapi.Handler(services.Routes, httpapi.Options{
		Verifier: verifier, Ledger: idempotency.Open(records, time.Now), Release: "test", Results: result.Open(roots, time.Now, 1<<30),
	})
	if wrap != nil {
		handler = wrap(handler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var jobs sync.WaitGroup
	jobs.Go(func() { services.Worker.Serve(ctx, 1) })
	server := httptest.NewServer(handler)
	return &Server{URL: server.URL, Close: func() {
		server.Close()
		cancel()
		jobs.Wait()
		_ = os.RemoveAll(folder)
	}}, nil
}
