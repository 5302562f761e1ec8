package catalog

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// turns lets the requests of several processes reach a store one at a time, in a given order. A process
// that has ended gives its turns to the others, and after the last turn the order is free.
type turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	order string // a letter for each turn
	ended map[rune]bool
}

func newTurns(order string) *turns {
	t := &turns{order: order, ended: map[rune]bool{}}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// of makes the requests of a process wait for its turns.
func (t *turns) of(store objectstore.Store, who rune) objectstore.Store {
	return inTurn{store, func(request func()) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for t.order != "" && rune(t.order[0]) != who {
			if t.ended[rune(t.order[0])] {
				t.order = t.order[1:]
				continue
			}
			t.moved.Wait()
		}
		if t.order != "" {
			t.order = t.order[1:]
		}
		request()
		t.moved.Broadcast()
	}}
}

func (t *turns) end(who rune) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended[who] = true
	t.moved.Broadcast()
}

// inTurn is a store whose requests run in a turn.
type inTurn struct {
	objectstore.Store
	turn func(request func())
}

func (s inTurn) Get(ctx context.Context, key string) (data []byte, info objectstore.Info, err error) {
	s.turn(func() { data, info, err = s.Store.Get(ctx, key) })
	return data, info, err
}

func (s inTurn) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (info objectstore.Info, err error) {
	s.turn(func() { info, err = s.Store.Put(ctx, key, data, cond) })
	return info, err
}

func (s inTurn) Delete(ctx context.Context, key string, cond objectstore.Condition) (err error) {
	s.turn(func() { err = s.Store.Delete(ctx, key, cond) })
	return err
}

func (s inTurn) List(ctx context.Context, opts objectstore.ListOptions) (page objectstore.ListPage, err error) {
	s.turn(func() { page, err = s.Store.List(ctx, opts) })
	return page, err
}

// orders returns all orders of n turns of c and m turns of d.
func orders(n, m int) []string {
	if n == 0 && m == 0 {
		return []string{""}
	}
	var all []string
	if n > 0 {
		for _, rest := range orders(n-1, m) {
			all = append(all, "c"+rest)
		}
	}
	if m > 0 {
		for _, rest := range orders(n, m-1) {
			all = append(all, "d"+rest)
		}
	}
	return all
}

// A drop of a namespace meets a create inside of it, in each order of their requests. The creator has seen
// the namespace before, which saves it a look at it, or has not. A second drop and a second namespace of the
// name may have come in between.
func TestCreateAndDropOfANamespaceAgreeInEachOrder(t *testing.T) {
	parent := []string{"p"}
	table, inner := keys.Child(parent, "t"), keys.Child(parent, "n")
	creates := map[string]struct {
		do  func(ctx context.Context, c *Catalog) error
		key string
	}{
		"namespace": {func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Create(ctx, inner, nil, namespaces.FailIfExists)
			return err
		}, keys.Namespace(inner)},
		"table": {func(ctx context.Context, c *Catalog) error {
			_, err := c.CreateTable(ctx, table, c.Places.New(table), 0, nil)
			return err
		}, keys.Table(table)},
	}
	drops := map[string]func(ctx context.Context, c *Catalog) error{
		"drop": func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Drop(ctx, parent, false)
			return err
		},
		"cascade": func(ctx context.Context, c *Catalog) error {
			_, err := c.Namespaces.Drop(ctx, parent, true)
			return err
		},
		"drop and create": func(ctx context.Context, c *Catalog) error {
			if _, err := c.Namespaces.Drop(ctx, parent, false); err != nil {
				return err
			}
			_, err := c.Namespaces.Create(ctx, parent, map[string]string{"managed_versioning": "true"}, namespaces.FailIfExists)
			return err
		},
	}
	for what, create := range creates {
		for how, drop := range drops {
			for _, seen := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, seen %v", what, how, seen), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var made, dropped int
						for _, order := range orders(4, 7) {
							ctx, store, turns := t.Context(), memstore.New(), newTurns(order)
							setup := open(t, store)
							mustCreate(t, setup, "p")
							creator, dropper := open(t, store), open(t, turns.of(store, 'd'))
							if seen {
								if _, err := creator.Namespaces.Get(ctx, parent); err != nil {
									t.Fatal(err)
								}
							}
							creator.names.Store.Store = turns.of(store, 'c')
							var createErr, dropErr error
							var group sync.WaitGroup
							group.Go(func() {
								createErr = create.do(ctx, creator)
								turns.end('c')
							})
							group.Go(func() {
								dropErr = drop(ctx, dropper)
								turns.end('d')
							})
							group.Wait()
							_, parentErr := setup.Namespaces.Get(ctx, parent)
							var record stored.Table
							_, childThere, err := setup.store.Find(ctx, create.key, &record)
							if err != nil {
								t.Fatal(err)
							}
							state := fmt.Sprintf("%s: create: %v, drop: %v; parent: %v, child there: %v", order, createErr, dropErr, parentErr, childThere)
							switch {
							case createErr == nil && !childThere && (how != "cascade" || dropErr != nil):
								t.Fatalf("%s: the child is lost", state)
							case createErr != nil && childThere:
								t.Fatalf("%s: the child stayed", state)
							case parentErr != nil && childThere:
								t.Fatalf("%s: a child without its parent", state)
							case dropErr == nil && parentErr == nil && how != "drop and create":
								t.Fatalf("%s: the parent stayed", state)
							case what == "table" && childThere && dropErr == nil && record.Ledger == nil:
								t.Fatalf("%s: the table is not managed, as the second namespace of the name wants it", state)
							}
							if createErr == nil {
								made++
							}
							if dropErr == nil {
								dropped++
							}
						}
						if made == 0 || dropped == 0 {
							t.Errorf("%d creates and %d drops succeeded, want some of both", made, dropped)
						}
					})
				})
			}
		}
	}
}
