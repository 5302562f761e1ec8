package probe_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/probe"
)

func TestRunPassesAGoodStoreAndLeavesItAsItWas(t *testing.T) {
	s := memstore.New()
	if _, err := s.Put(t.Context(), "_catalog/$/t/mine", []byte("{}"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := probe.Run(t.Context(), s); err != nil {
		t.Error(err)
	}
	if keys := keysOf(t, s); !slices.Equal(keys, []string{"_catalog/$/t/mine"}) {
		t.Errorf("the probe left %q", keys)
	}
}

func keysOf(t *testing.T, s objectstore.Store) (keys []string) {
	t.Helper()
	page, err := s.List(t.Context(), objectstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range page.Objects {
		keys = append(keys, o.Key)
	}
	return keys
}

// A broken store is a good one apart from the calls that it replaces.
type broken struct {
	*memstore.Store
	put    func(key string, cond *objectstore.Condition)
	delete func(key string, cond *objectstore.Condition)
	resent bool // each delete of a racer is sent twice, and the second response counts: a missing object counts as deleted
	late   bool // conditional deletes come after a put if unchanged of the same key has won, but for that of a race's object
	won    signals
	list   func(*objectstore.ListPage)
	write  func([]byte) []byte
	refuse error // of all calls
}

func (b *broken) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if b.put != nil {
		b.put(key, &cond)
	}
	if b.refuse != nil {
		return objectstore.Info{}, b.refuse
	}
	info, err := b.Store.Put(ctx, key, data, cond)
	if err == nil && cond.IfMatch != "" && string(data) != "start" {
		b.won.give(key)
	}
	return info, err
}

func (b *broken) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if b.late && cond.IfMatch != "" && strings.HasSuffix(key, "/k") {
		b.won.await(key)
	}
	if b.delete != nil {
		b.delete(key, &cond)
	}
	err := b.Store.Delete(ctx, key, cond)
	if b.resent && strings.HasSuffix(key, "/k") {
		if _, _, gone := b.Get(ctx, key); errors.Is(gone, objectstore.ErrNotExist) {
			return nil
		}
	}
	return err
}

func (b *broken) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	page, err := b.Store.List(ctx, opts)
	if b.list != nil {
		b.list(&page)
	}
	return page, err
}

func (b *broken) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	w, err := b.Store.Create(ctx, key)
	if b.write == nil || err != nil {
		return w, err
	}
	return &brokenWriter{w, b.write}, nil
}

type brokenWriter struct {
	objectstore.Writer
	write func([]byte) []byte
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(w.write(bytes.Clone(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// signals record, for each key, that an event has happened.
type signals struct{ all sync.Map }

type signal struct {
	once  sync.Once
	given chan struct{}
}

func (s *signals) of(key string) *signal {
	one, _ := s.all.LoadOrStore(key, &signal{given: make(chan struct{})})
	return one.(*signal)
}

func (s *signals) give(key string) {
	one := s.of(key)
	one.once.Do(func() { close(one.given) })
}

func (s *signals) await(key string) { <-s.of(key).given }

// always makes a condition none.
func always(_ string, cond *objectstore.Condition) { *cond = objectstore.Condition{} }

// contested drops the conditions of the first n writes of each key with more than two racing writers, like
// a server that compares first and writes later.
func contested(match bool) func(string, *objectstore.Condition) {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(key string, cond *objectstore.Condition) {
		mu.Lock()
		defer mu.Unlock()
		if cond.IfAbsent == !match && (cond.IfMatch != "") == match && strings.HasSuffix(key, "/k") {
			if seen[key]++; seen[key] > 2 {
				*cond = objectstore.Condition{}
			}
		}
	}
}

func TestRunNamesEachBrokenGuarantee(t *testing.T) {
	const (
		absent        = "a put if absent replaces nothing"
		match         = "a put if unchanged replaces no other object"
		deletes       = "a delete if unchanged deletes no other object"
		racingAbsent  = "one of several puts if absent wins"
		racingMatch   = "one of several puts if unchanged wins"
		racingDeletes = "one of several deletes if unchanged wins"
		parts         = "an upload in parts becomes one object"
		lists         = "lists are complete and in the order of keys"
	)
	ofAbsent := func(_ string, cond *objectstore.Condition) { cond.IfAbsent = false }
	ofMatch := func(_ string, cond *objectstore.Condition) { cond.IfMatch = "" }
	refusesAbsent := func(_ string, cond *objectstore.Condition) {
		if cond.IfAbsent {
			*cond = objectstore.Condition{IfMatch: "another"}
		}
	}
	refusesMatch := func(_ string, cond *objectstore.Condition) {
		if cond.IfMatch != "" {
			cond.IfMatch = "another"
		}
	}
	cases := map[string]struct {
		store *broken
		want  []string
	}{
		"puts ignore If-None-Match":        {&broken{put: ofAbsent}, []string{absent, racingAbsent}},
		"puts ignore If-Match":             {&broken{put: ofMatch}, []string{match, racingMatch, racingDeletes}},
		"puts ignore both":                 {&broken{put: always}, []string{absent, match, racingAbsent, racingMatch, racingDeletes}},
		"puts if absent race":              {&broken{put: contested(false)}, []string{racingAbsent}},
		"puts if unchanged race":           {&broken{put: contested(true)}, []string{racingMatch, racingDeletes}},
		"deletes ignore If-Match":          {&broken{delete: always, late: true}, []string{deletes, racingDeletes}},
		"puts if absent are refused":       {&broken{put: refusesAbsent}, []string{absent}},
		"puts if unchanged are refused":    {&broken{put: refusesMatch}, []string{match}},
		"deletes if unchanged are refused": {&broken{delete: refusesMatch}, []string{deletes}},
		"deletes are sent again":           {&broken{resent: true}, nil},
		"deletes race":                     {&broken{delete: contested(true), late: true}, []string{racingDeletes}},
		"deletes of nothing succeed":       {&broken{delete: unconditional("/absent")}, []string{deletes}},
		"parts are lost":                   {&broken{write: func(p []byte) []byte { return p[:len(p)/2] }}, []string{parts}},
		"parts are exchanged":              {&broken{write: func(p []byte) []byte { p[0], p[len(p)-1] = ^p[0], ^p[len(p)-1]; return p }}, []string{parts}},
		"lists are reversed":               {&broken{list: func(p *objectstore.ListPage) { slices.Reverse(p.Objects) }}, []string{lists}},
		"lists leave out objects":          {&broken{list: func(p *objectstore.ListPage) { p.Objects = p.Objects[min(1, len(p.Objects)):] }}, []string{lists}},
		"lists end after their first":      {&broken{list: func(p *objectstore.ListPage) { p.More = false }}, []string{lists}},
	}
	named := map[string]bool{}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.store.Store = memstore.New()
			var got []string
			for _, fault := range probe.Faults(probe.Run(t.Context(), c.store)) {
				got = append(got, fault.Guarantee)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, guarantee := range got {
				named[guarantee] = true
			}
			if keys := keysOf(t, c.store.Store); len(keys) > 0 {
				t.Errorf("the probe left %q", keys)
			}
		})
	}
	for _, guarantee := range probe.Guarantees() {
		if !named[guarantee] {
			t.Errorf("no case breaks %q", guarantee)
		}
	}
}

// unconditional makes the conditions for some keys none.
func unconditional(end string) func(string, *objectstore.Condition) {
	return func(key string, cond *objectstore.Condition) {
		if strings.HasSuffix(key, end) {
			*cond = objectstore.Condition{}
		}
	}
}

func TestRunDoesNotBlameAStoreThatCannotBeAsked(t *testing.T) {
	denied := errors.New("access denied")
	err := probe.Run(t.Context(), &broken{Store: memstore.New(), refuse: denied})
	if faults := probe.Faults(err); !errors.Is(err, denied) || len(faults) > 0 {
		t.Errorf("got %v with faults %v, want the error of the store", err, faults)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probe.Run(ctx, memstore.New()); !errors.Is(err, context.Canceled) || len(probe.Faults(err)) > 0 {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// beginning is a store that loses the first answers to each put of a guarantee.
type beginning struct{ *memstore.Store }

func (b beginning) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if strings.HasSuffix(key, "-0/k") {
		return objectstore.Info{}, objectstore.ErrUnknownOutcome
	}
	return b.Store.Put(ctx, key, data, cond)
}

func TestGuaranteesWhoseOutcomeIsUnknownAreTriedAgain(t *testing.T) {
	if err := probe.Run(t.Context(), beginning{memstore.New()}); err != nil {
		t.Error(err)
	}
}

// repeating is a store with the ETags of S3, which depend on the content alone. It carries out the first put of
// the object at key once more after its first delete, as if a second request for that put had been late. The
// puts of racers come after that.
type repeating struct {
	*memstore.Store
	key   string // the end of it
	again signals

	mu    sync.Mutex
	first string
	twice bool
	etags [2]string // of the object: by its content, and in the store
}

func (r *repeating) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if !strings.HasSuffix(key, r.key) {
		return r.Store.Put(ctx, key, data, cond)
	}
	if strings.HasPrefix(string(data), "racer") {
		r.again.await(r.key)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == "" {
		r.first = string(data)
	}
	return r.put(ctx, key, data, cond)
}

func (r *repeating) put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	info, err := r.Store.Put(ctx, key, data, r.inner(cond))
	if err == nil {
		r.etags = [2]string{fmt.Sprintf("%x", sha256.Sum256(data)), info.ETag}
		info.ETag = r.etags[0]
	}
	return info, err
}

func (r *repeating) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if !strings.HasSuffix(key, r.key) {
		return r.Store.Delete(ctx, key, cond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.Store.Delete(ctx, key, r.inner(cond))
	if err == nil && !r.twice {
		r.twice = true
		_, err = r.put(ctx, key, []byte(r.first), objectstore.Condition{IfAbsent: true})
		r.again.give(r.key)
	}
	return err
}

// inner returns a condition with the ETag that the object has in the store.
func (r *repeating) inner(cond objectstore.Condition) objectstore.Condition {
	if cond.IfMatch == r.etags[0] {
		cond.IfMatch = r.etags[1]
	}
	return cond
}

func TestALatePutMakesNoFault(t *testing.T) {
	race := slices.Index(probe.Guarantees(), "one of several deletes if unchanged wins")
	if err := probe.Run(t.Context(), &repeating{Store: memstore.New(), key: fmt.Sprintf("/%d-0/k", race)}); err != nil {
		t.Error(err)
	}
}
