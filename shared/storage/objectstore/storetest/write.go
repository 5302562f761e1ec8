package storetest

import (
	"context"
	"errors"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

func putIfAbsent(t *testing.T, s objectstore.Store) {
	ctx := t.Context()
	if _, err := s.Put(ctx, "a/k", []byte("first"), ifAbsent); err != nil {
		t.Fatalf("Put of what is absent: got %v, want nil", err)
	}
	_, err := s.Put(ctx, "a/k", []byte("second"), ifAbsent)
	wantErr(t, "Put of what is there", err, objectstore.ErrPrecondition)
	mustGet(t, s, "a/k", "first")
	if err := s.Delete(ctx, "a/k", always); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "a/k", []byte("third"), ifAbsent); err != nil {
		t.Fatalf("Put of what was deleted: got %v, want nil", err)
	}
	mustGet(t, s, "a/k", "third")
}

func putIfMatch(t *testing.T, s objectstore.Store) {
	ctx := t.Context()
	_, err := s.Put(ctx, "a/k", []byte("x"), ifMatch("none"))
	wantErr(t, "Put over nothing", err, objectstore.ErrPrecondition)
	wantAbsent(t, s, "a/k")

	first := mustPut(t, s, "a/k", "first")
	second, err := s.Put(ctx, "a/k", []byte("second"), ifMatch(first.ETag))
	if err != nil {
		t.Fatalf("Put over the match: got %v, want nil", err)
	}
	_, err = s.Put(ctx, "a/k", []byte("third"), ifMatch(first.ETag))
	wantErr(t, "Put over another", err, objectstore.ErrPrecondition)
	if diff := infoDiff(second, mustGet(t, s, "a/k", "second")); diff != "" {
		t.Errorf("Info of Get (-put +get):\n%s", diff)
	}
	if err := s.Delete(ctx, "a/k", always); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(ctx, "a/k", []byte("fourth"), ifMatch(second.ETag))
	wantErr(t, "Put over what was deleted", err, objectstore.ErrPrecondition)
	mustPut(t, s, "a/k", "second")
	_, err = s.Put(ctx, "a/k", []byte("fifth"), ifMatch(first.ETag))
	wantErr(t, "Put over what was made again", err, objectstore.ErrPrecondition)
}

func deleteIfMatch(t *testing.T, s objectstore.Store) {
	ctx := t.Context()
	wantErr(t, "Delete of nothing", s.Delete(ctx, "a/k", ifMatch("none")), objectstore.ErrPrecondition)
	first := mustPut(t, s, "a/k", "first")
	wantErr(t, "Delete of nothing beside it", s.Delete(ctx, "a/l", ifMatch(first.ETag)), objectstore.ErrPrecondition)
	second := mustPut(t, s, "a/k", "second")
	wantErr(t, "Delete of another", s.Delete(ctx, "a/k", ifMatch(first.ETag)), objectstore.ErrPrecondition)
	mustGet(t, s, "a/k", "second")
	if err := s.Delete(ctx, "a/k", ifMatch(second.ETag)); err != nil {
		t.Fatalf("Delete of the match: got %v, want nil", err)
	}
	wantAbsent(t, s, "a/k")
	wantErr(t, "Delete of what was deleted", s.Delete(ctx, "a/k", ifMatch(second.ETag)), objectstore.ErrPrecondition)
}

func mistakenConditions(t *testing.T, s objectstore.Store) {
	info := mustPut(t, s, "k", "first")
	both := objectstore.Condition{IfAbsent: true, IfMatch: info.ETag}
	for _, key := range []string{"k", "new"} {
		if _, err := s.Put(t.Context(), key, []byte("second"), both); err == nil {
			t.Errorf("Put(%q) with both conditions: got nil, want an error", key)
		}
		if err := s.Delete(t.Context(), key, ifAbsent); err == nil {
			t.Errorf("Delete(%q) if absent: got nil, want an error", key)
		}
	}
	mustGet(t, s, "k", "first")
	wantAbsent(t, s, "new")
}

func etagsOfOverwritesDiffer(t *testing.T, s objectstore.Store) {
	seen := make(map[string]int)
	for i := range 200 {
		value := string(rune('a' + i%26))
		etag := mustPut(t, s, "k", value).ETag
		if before, ok := seen[etag]; ok && before != i%26 {
			t.Fatalf("ETag %s of content %d was that of content %d", etag, i%26, before)
		}
		seen[etag] = i % 26
	}
}

func writerCommits(t *testing.T, s objectstore.Store) {
	mustPut(t, s, "w/old", "old")
	for _, key := range []string{"w/old", "w/deep/new"} {
		w, err := s.Create(t.Context(), key)
		if err != nil {
			t.Fatalf("Create(%q): got %v, want nil", key, err)
		}
		piece := []byte("piece.")
		for range 3 {
			if n, err := w.Write(piece); n != 6 || err != nil {
				t.Fatalf("Write: got %d, %v, want 6, nil", n, err)
			}
		}
		copy(piece, "XXXXXX")
		if key == "w/old" {
			mustGet(t, s, key, "old")
		} else {
			wantAbsent(t, s, key)
		}
		info, err := w.Commit()
		if err != nil {
			t.Fatalf("Commit: got %v, want nil", err)
		}
		if diff := infoDiff(info, mustGet(t, s, key, "piece.piece.piece.")); diff != "" {
			t.Errorf("Info of Get (-commit +get):\n%s", diff)
		}
		wantFinished(t, w)
		mustGet(t, s, key, "piece.piece.piece.")
	}
}

func writerAborts(t *testing.T, s objectstore.Store) {
	mustPut(t, s, "w/k", "old")
	for _, key := range []string{"w/k", "w/new", "fresh/new"} {
		w, err := s.Create(t.Context(), key)
		if err != nil {
			t.Fatalf("Create(%q): got %v, want nil", key, err)
		}
		if _, err := w.Write([]byte("half")); err != nil {
			t.Fatalf("Write: got %v, want nil", err)
		}
		wantFinished(t, w)
	}
	mustGet(t, s, "w/k", "old")
	if keys := keysOf(t, s, ""); len(keys) != 1 {
		t.Errorf("List: got %q, want only w/k", keys)
	}
}

// wantFinished aborts w and checks that every later call fails.
func wantFinished(t *testing.T, w objectstore.Writer) {
	t.Helper()
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Errorf("Abort: got %v, want nil", err)
		}
		if _, err := w.Write([]byte("late")); err == nil {
			t.Errorf("Write to a finished writer: got nil, want an error")
		}
		if _, err := w.Commit(); err == nil {
			t.Errorf("Commit of a finished writer: got nil, want an error")
		}
	}
}

func cancelledContext(t *testing.T, s objectstore.Store) {
	info := mustPut(t, s, "k", "old")
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	calls := []struct {
		name string
		call func() error // Commit must be the last, because it finishes the writer
	}{
		{"Get", func() error { _, _, err := s.Get(ctx, "k"); return err }},
		{"GetRanges", func() error { _, _, err := s.GetRanges(ctx, "k", objectstore.Range{Length: 1}); return err }},
		{"Put", func() error { _, err := s.Put(ctx, "k", nil, always); return err }},
		{"Put if absent", func() error { _, err := s.Put(ctx, "new", nil, ifAbsent); return err }},
		{"Put if match", func() error { _, err := s.Put(ctx, "k", nil, ifMatch(info.ETag)); return err }},
		{"Delete", func() error { return s.Delete(ctx, "k", always) }},
		{"Delete if match", func() error { return s.Delete(ctx, "k", ifMatch(info.ETag)) }},
		{"List", func() error { _, err := s.List(ctx, objectstore.ListOptions{}); return err }},
		{"Create", func() error { _, err := s.Create(ctx, "k"); return err }},
		{"Write", func() error { _, err := w.Write([]byte("x")); return err }},
		{"Commit", func() error { _, err := w.Commit(); return err }},
	}
	for _, c := range calls {
		if err := c.call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", c.name, err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort: got %v, want nil", err)
	}
	mustGet(t, s, "k", "old")
	wantAbsent(t, s, "new")
}
