// Package faultstore wraps an object store for tests: it counts requests and injects faults.
//
// [Recorder] counts the requests of an operation and their depth, the length of the longest chain of
// dependent requests. A function chooses a [Fault] for each call: an error before the request, a lost
// answer, a pause, or a crash of the process, after which all calls fail. A crash matrix runs an operation
// once for each of its calls, and crashes the n-th call:
//
//	s := faultstore.New(memstore.New(), nil)
//	// … set up through s …
//	s.Reset()
//	s.Inject(func(c faultstore.Call) faultstore.Fault {
//		return faultstore.Fault{Crash: c.N == n}
//	})
//	// … run the operation through s, then look at what the inner store holds …
package faultstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tiltyard/shared/process/backoff"
	"tiltyard/shared/storage/objectstore"
)

// ErrCrashed is the error of the call that a Fault crashed, and of all later calls.
var ErrCrashed = errors.New("the process has crashed")

// A Kind is a kind of request.
type Kind string

// The kinds of requests. A GetRanges counts as one Range per range, or as one Head without ranges. A writer
// counts as one Upload at its commit, and a copy within a server as one Copy.
const (
	Get         Kind = "get"
	Range       Kind = "range"
	Head        Kind = "head"
	Put         Kind = "put"
	PutIfAbsent Kind = "put-if-absent"
	PutIfMatch  Kind = "put-if-match"
	Upload      Kind = "upload"
	Copy        Kind = "copy"
	Delete      Kind = "delete"
	List        Kind = "list"
)

// A Call describes a call to the store.
type Call struct {
	N      int // 1 for the first call after New or Reset
	Kind   Kind
	Key    string              // the prefix if Kind is List
	Ranges []objectstore.Range // the ranges of a GetRanges
	Data   []byte              // the bytes of a put; must not be changed
}

// isWrite reports whether the call changes the store.
func (c Call) isWrite() bool {
	switch c.Kind {
	case Put, PutIfAbsent, PutIfMatch, Upload, Copy, Delete:
		return true
	}
	return false
}

// A Fault modifies a call. The zero value changes nothing. Fields can be combined: Lost and Crash together
// simulate a process that wrote, and died before it received the answer.
type Fault struct {
	// Wait runs first, and lets the call hang until it returns. If it returns an error, the call
	// fails with that error and the inner store gets no request.
	Wait func(context.Context) error
	// Err fails the call before the inner store gets a request.
	Err error
	// Lost runs the call and drops the answer. A write then returns ErrUnknownOutcome, no matter
	// whether its condition held, and a read returns an error.
	Lost bool
	// Crash fails this call and all later ones with ErrCrashed.
	Crash bool
}

// Latency returns a decision that makes every call take the time d. In a testing/synctest bubble
// that costs no real time, and makes depths exact.
func Latency(d time.Duration) func(Call) Fault {
	wait := func(ctx context.Context) error { return backoff.Sleep(ctx, d) }
	return func(Call) Fault { return Fault{Wait: wait} }
}

// A Store is a wrapped store. It is safe for concurrent use.
type Store struct {
	*Recorder
	inner objectstore.Store

	deciding sync.Mutex // held while decide runs
	mu       sync.Mutex
	decide   func(Call) Fault
	crashed  bool
}

var _ objectstore.Store = (*Store)(nil)

// New wraps inner. decide is called before each call to inner, by one goroutine at a time; nil means no
// faults. decide must not block (see Fault.Wait), and must not use the Store.
func New(inner objectstore.Store, decide func(Call) Fault) *Store {
	return &Store{Recorder: new(Recorder), inner: inner, decide: decide}
}

// Inject replaces the decision function. It does not undo a crash: to continue after one, wrap the inner
// store again.
func (s *Store) Inject(decide func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide = decide
}

// do counts and runs one call. run calls the inner store and returns the number of bytes read.
func (s *Store) do(ctx context.Context, call Call, condition string, run func() (int, error)) error {
	level := s.begin(&call, condition)
	fault, err := s.fault(call)
	if err == nil && fault.Wait != nil {
		err = fault.Wait(ctx)
	}
	if err == nil {
		err = fault.Err
	}
	read := 0
	if err == nil && (fault.Lost || !fault.Crash) {
		read, err = run()
	}
	if fault.Lost && settled(err) {
		err = lost(call)
	}
	if fault.Crash {
		s.crash()
		err = ErrCrashed
	}
	if err != nil {
		read = 0
	}
	s.end(level, read)
	if err != nil {
		return fmt.Errorf("%s %q: %w", call.Kind, call.Key, err)
	}
	return nil
}

// fault returns the fault for a call. decide is called by one goroutine at a time, and without the store's
// lock.
func (s *Store) fault(call Call) (Fault, error) {
	s.mu.Lock()
	decide, crashed := s.decide, s.crashed
	s.mu.Unlock()
	if crashed {
		return Fault{}, ErrCrashed
	}
	if decide == nil {
		return Fault{}, nil
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	return decide(call), nil
}

func (s *Store) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashed = true
}

// settled reports whether err is a definite answer of a server, which can get lost.
func settled(err error) bool {
	return err == nil || errors.Is(err, objectstore.ErrPrecondition) || errors.Is(err, objectstore.ErrNotExist)
}

func lost(call Call) error {
	if call.isWrite() {
		return objectstore.ErrUnknownOutcome
	}
	return errors.New("the answer was lost")
}

// Get implements objectstore.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	var data []byte
	var info objectstore.Info
	err := s.do(ctx, Call{Kind: Get, Key: key}, "", func() (n int, err error) {
		data, info, err = s.inner.Get(ctx, key)
		return len(data), err
	})
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return data, info, nil
}

// GetRanges implements objectstore.Store.
func (s *Store) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	call := Call{Kind: Range, Key: key, Ranges: ranges}
	if len(ranges) == 0 {
		call.Kind = Head
	}
	var parts [][]byte
	var info objectstore.Info
	err := s.do(ctx, call, "", func() (n int, err error) {
		parts, info, err = s.inner.GetRanges(ctx, key, ranges...)
		for _, part := range parts {
			n += len(part)
		}
		return n, err
	})
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return parts, info, nil
}

// Put implements objectstore.Store.
func (s *Store) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	call := Call{Kind: Put, Key: key, Data: data}
	switch {
	case cond.IfAbsent:
		call.Kind = PutIfAbsent
	case cond.IfMatch != "":
		call.Kind = PutIfMatch
	}
	var info objectstore.Info
	err := s.do(ctx, call, conditionText(cond), func() (n int, err error) {
		info, err = s.inner.Put(ctx, key, data, cond)
		return 0, err
	})
	if err != nil {
		return objectstore.Info{}, err
	}
	return info, nil
}

// Delete implements objectstore.Store.
func (s *Store) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	return s.do(ctx, Call{Kind: Delete, Key: key}, conditionText(cond), func() (int, error) {
		return 0, s.inner.Delete(ctx, key, cond)
	})
}

// conditionText returns the text of a condition for the log. It leaves out the ETag, which differs
// from run to run.
func conditionText(cond objectstore.Condition) string {
	switch {
	case cond.IfAbsent:
		return " if-absent"
	case cond.IfMatch != "":
		return " if-match"
	}
	return ""
}

// List implements objectstore.Store.
func (s *Store) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	var page objectstore.ListPage
	err := s.do(ctx, Call{Kind: List, Key: opts.Prefix}, listText(opts), func() (n int, err error) {
		page, err = s.inner.List(ctx, opts)
		return 0, err
	})
	if err != nil {
		return objectstore.ListPage{}, err
	}
	return page, nil
}

func listText(opts objectstore.ListOptions) string {
	var text string
	if opts.StartAfter != "" {
		text += " after " + opts.StartAfter
	}
	if opts.Delimiter != "" {
		text += " delimiter " + opts.Delimiter
	}
	if opts.Limit > 0 {
		text += fmt.Sprintf(" limit %d", opts.Limit)
	}
	return text
}

// Create implements objectstore.Store. The written bytes stay here until the commit.
func (s *Store) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	s.mu.Lock()
	crashed := s.crashed
	s.mu.Unlock()
	if crashed {
		return nil, fmt.Errorf("create %q: %w", key, ErrCrashed)
	}
	w, err := s.inner.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	commit := func(data []byte) (objectstore.Info, error) {
		var info objectstore.Info
		err := s.do(ctx, Call{Kind: Upload, Key: key, Data: data}, "", func() (n int, err error) {
			info, err = w.Commit()
			return 0, err
		})
		return info, err
	}
	return &writer{Writer: w, commit: commit}, nil
}

// A writer makes its one request at the commit, like a small upload to S3.
type writer struct {
	objectstore.Writer
	commit func(data []byte) (objectstore.Info, error) // within the context of Create, because Commit takes none
	data   bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.data.Write(p[:n])
	return n, err
}

func (w *writer) Commit() (objectstore.Info, error) {
	info, err := w.commit(w.data.Bytes())
	if err != nil {
		// The contract requires that the writer is finished, no matter which error occurred.
		return objectstore.Info{}, errors.Join(err, w.Abort())
	}
	return info, nil
}
