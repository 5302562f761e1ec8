package memstore_test

import (
	"testing"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) objectstore.Store { return memstore.New() })
}

func TestKeyAndKeysBelowItCoexist(t *testing.T) {
	s := memstore.New()
	for _, key := range []string{"a", "a/b", "a/b/c"} {
		if _, err := s.Put(t.Context(), key, []byte(key), objectstore.Condition{IfAbsent: true}); err != nil {
			t.Errorf("put %q: got %v, want nil", key, err)
		}
	}
	page, err := s.List(t.Context(), objectstore.ListOptions{Delimiter: "/"})
	if err != nil || len(page.Objects) != 1 || len(page.Prefixes) != 1 {
		t.Errorf("list: got %+v, %v, want object a and prefix a/", page, err)
	}
}
