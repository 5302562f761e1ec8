package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/storage/objectstore"
)

// A history applies the same operations to a store and to a map.
type history struct {
	keys  []string
	store objectstore.Store
	now   map[string]version
	etags []string // every ETag that was ever returned
}

type version struct{ value, etag string }

var historyKeys = []string{"a", "b/c", "b/d", "b/e/f", "g/h/i/j", "g/h-", longPart + "/x", longPart + "y"}

func historyAgreesWithModel(t *testing.T, s objectstore.Store) {
	keys := held(t, s, historyKeys)
	rapid.Check(t, func(t *rapid.T) {
		for _, key := range keysOf(t, s, "") {
			if err := s.Delete(context.Background(), key, always); err != nil {
				t.Fatalf("Delete(%.80q): got %v, want nil", key, err)
			}
		}
		h := &history{keys: keys, store: s, now: make(map[string]version), etags: []string{"none"}}
		t.Repeat(map[string]func(*rapid.T){"put": h.put, "delete": h.delete, "commit": h.commit, "": h.check})
	})
}

// draw picks a key and a condition. holds reports whether the condition holds.
func (h *history) draw(t *rapid.T) (key string, cond objectstore.Condition, holds bool) {
	key = rapid.SampledFrom(h.keys).Draw(t, "key")
	have, exists := h.now[key]
	switch rapid.SampledFrom([]string{"always", "absent", "match", "any"}).Draw(t, "condition") {
	case "absent":
		return key, ifAbsent, !exists
	case "match":
		if exists {
			return key, ifMatch(have.etag), true
		}
	case "any":
		etag := rapid.SampledFrom(h.etags).Draw(t, "etag")
		return key, ifMatch(etag), exists && have.etag == etag
	}
	return key, always, true
}

func (h *history) put(t *rapid.T) {
	key, cond, holds := h.draw(t)
	value := rapid.StringN(0, 20, 40).Draw(t, "value")
	info, err := h.store.Put(context.Background(), key, []byte(value), cond)
	if !holds {
		wantErr(t, "Put against its condition", err, objectstore.ErrPrecondition)
		return
	}
	if err != nil {
		t.Fatalf("Put(%.80q, %+v): got %v, want nil", key, cond, err)
	}
	h.now[key] = version{value, info.ETag}
	h.etags = append(h.etags, info.ETag)
}

func (h *history) delete(t *rapid.T) {
	key, cond, holds := h.draw(t)
	if cond.IfAbsent {
		cond, holds = always, true
	}
	err := h.store.Delete(context.Background(), key, cond)
	if !holds {
		wantErr(t, "Delete against its condition", err, objectstore.ErrPrecondition)
		return
	}
	if err != nil {
		t.Fatalf("Delete(%.80q, %+v): got %v, want nil", key, cond, err)
	}
	delete(h.now, key)
}

func (h *history) commit(t *rapid.T) {
	key := rapid.SampledFrom(h.keys).Draw(t, "key")
	w, err := h.store.Create(context.Background(), key)
	if err != nil {
		t.Fatalf("Create(%.80q): got %v, want nil", key, err)
	}
	if _, err := w.Write([]byte("streamed")); err != nil {
		t.Fatalf("Write: got %v, want nil", err)
	}
	info, err := w.Commit()
	if err != nil {
		t.Fatalf("Commit: got %v, want nil", err)
	}
	h.now[key] = version{"streamed", info.ETag}
	h.etags = append(h.etags, info.ETag)
}

func (h *history) check(t *rapid.T) {
	for _, key := range h.keys {
		data, info, err := h.store.Get(context.Background(), key)
		want, exists := h.now[key]
		switch {
		case !exists && errors.Is(err, objectstore.ErrNotExist):
		case err != nil || string(data) != want.value || info.ETag != want.etag:
			t.Fatalf("Get(%.80q): got %q, ETag %q, %v, want %q, %q", key, data, info.ETag, err, want.value, want.etag)
		}
	}
	got := keysOf(t, h.store, "")
	if diff := cmp.Diff(slices.Sorted(maps.Keys(h.now)), got); len(got)+len(h.now) > 0 && diff != "" {
		t.Fatalf("List (-want +got):\n%s", diff)
	}
}
