package storetest

import (
	"errors"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// copies tests CopyWithin between two stores of one kind. A store that cannot copy must return an error
// before any change.
func copies(t *testing.T, s objectstore.Store) {
	ctx := t.Context()
	const odd = "a/ k+%2F$ä#?.lance"
	was := mustPut(t, s, odd, "first")
	err := objectstore.CopyWithin(ctx, s, was, s, "b/k")
	if errors.Is(err, errors.ErrUnsupported) {
		wantAbsent(t, s, "b/k")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	mustGet(t, s, "b/k", "first")
	mustPut(t, s, odd, "second")
	mustGet(t, s, "b/k", "first")
	wantErr(t, "copy of what was replaced", objectstore.CopyWithin(ctx, s, was, s, "b/l"), objectstore.ErrPrecondition)
	wantAbsent(t, s, "b/l")

	was = mustPut(t, s, odd, "")
	if err := objectstore.CopyWithin(ctx, s, was, s, "b/k"); err != nil {
		t.Fatalf("copy over an object: %v", err)
	}
	mustGet(t, s, "b/k", "")
	if err := s.Delete(ctx, odd, always); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "copy of what was deleted", objectstore.CopyWithin(ctx, s, was, s, "b/l"), objectstore.ErrPrecondition)
	wantErr(t, "copy to no key", objectstore.CopyWithin(ctx, s, was, s, "b/../l"), objectstore.ErrInvalidKey)
}
