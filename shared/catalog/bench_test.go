package catalog_test

import (
	"fmt"
	"testing"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/diskstore"
)

// What one change costs does not depend on how many tables there are beside it.
func BenchmarkChangesBesideManyTables(b *testing.B) {
	for _, beside := range []int{10, 1000, 100_000} {
		store, err := diskstore.Open(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		c := openFor(b, store)
		for i := range beside {
			declare(b, c, fmt.Sprintf("beside-%06d", i))
		}
		changes := []struct {
			name string
			do   func(i int) error
		}{
			{"declare and deregister", func(i int) error {
				name := fmt.Sprintf("new-%d", i)
				declare(b, c, name)
				_, err := c.DeregisterTable(b.Context(), []string{name})
				return err
			}},
			{"rename and back", func(int) error {
				a, z := []string{"beside-000000"}, []string{"zzz"}
				if _, err := c.RenameTable(b.Context(), a, z); err != nil {
					return err
				}
				_, err := c.RenameTable(b.Context(), z, a)
				return err
			}},
			{"create and drop a namespace", func(i int) error {
				id := []string{fmt.Sprintf("ns-%d", i)}
				if _, err := c.Namespaces.Create(b.Context(), id, nil, namespaces.FailIfExists); err != nil {
					return err
				}
				_, err := c.Namespaces.Drop(b.Context(), id, false)
				return err
			}},
			{"page of ten tables", func(int) error {
				_, _, err := c.Lists.Names(b.Context(), lists.Tables, nil, "beside-000003", 10)
				return err
			}},
		}
		for _, change := range changes {
			b.Run(fmt.Sprintf("%s beside %d", change.name, beside), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if err := change.do(i); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func declare(b *testing.B, c *catalog.Catalog, name string) {
	b.Helper()
	id := []string{name}
	if _, err := c.CreateTable(b.Context(), id, c.Places.New(id), 0, nil); err != nil {
		b.Fatal(err)
	}
}

func openFor(b *testing.B, store objectstore.Store) *catalog.Catalog {
	b.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://bench", Store: store})
	if err != nil {
		b.Fatal(err)
	}
	return catalog.Open(roots, time.Now)
}

// A thousand names in pages of a hundred.
func BenchmarkListNamespaces(b *testing.B) {
	store, err := diskstore.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	c := openFor(b, store)
	for i := range 1000 {
		if _, err := c.Namespaces.Create(b.Context(), []string{fmt.Sprintf("namespace-%06d", i)}, nil, namespaces.FailIfExists); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(time.Second) // the directory has been quiet then
	for b.Loop() {
		for after, first := "", true; first || after != ""; first = false {
			if _, after, err = c.Lists.Names(b.Context(), lists.Namespaces, nil, after, 100); err != nil {
				b.Fatal(err)
			}
		}
	}
}
