package catalog

import (
	"context"
	"testing"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// A drop that happened is answered so, also when a creator inside, who came too late, takes its record back
// while the drop removes it.
func TestNamespacesDropIsAnsweredAsItHappened(t *testing.T) {
	store := memstore.New()
	setup := open(t, store)
	mustCreate(t, setup, "p", "p/late")
	key := keys.Namespace(split("p/late"))
	record, _, err := store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Namespaces.Drop(t.Context(), split("p/late"), false); err != nil {
		t.Fatal(err)
	}
	arrived, taken := false, false
	c := open(t, faultstore.New(store, func(call faultstore.Call) faultstore.Fault {
		return faultstore.Fault{Wait: func(ctx context.Context) (err error) {
			switch {
			case call.Kind == faultstore.Delete && call.Key == keys.Namespace(split("p")):
				arrived = true
				_, err = store.Put(ctx, key, record, objectstore.Condition{})
			case call.Kind == faultstore.PutIfMatch && call.Key == key:
				taken = true
				err = store.Delete(ctx, key, objectstore.Condition{})
			}
			return err
		}}
	}))
	if _, err := c.Namespaces.Drop(t.Context(), split("p"), false); err != nil {
		t.Errorf("the drop was answered with %v", err)
	}
	if !arrived || !taken {
		t.Errorf("the record came: %v, and went: %v", arrived, taken)
	}
	if _, err := open(t, store).Namespaces.Get(t.Context(), split("p")); code(err) != "NamespaceNotFound" {
		t.Errorf("the namespace after its drop: %v", err)
	}
}
