package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore/memstore"
)

// The names of a list are held in the share of the request that asks for them.
func TestListsAreHeld(t *testing.T) {
	c := open(t, memstore.New())
	for i := range 50 {
		if _, err := c.Namespaces.Create(t.Context(), []string{fmt.Sprint(strings.Repeat("n", 100), i)}, nil, namespaces.FailIfExists); err != nil {
			t.Fatal(err)
		}
	}
	for limit, fits := range map[int64]bool{1 << 20: true, 4 << 10: false} {
		share := memory.NewBudget(limit, limit).Open()
		names, _, err := c.Lists.Names(memory.WithShare(t.Context(), share), lists.Namespaces, nil, "", lists.NoLimit)
		refused := new(memory.Error)
		if fits && (err != nil || len(names) != 50 || share.Held() < 50*100) || !fits && !errors.As(err, &refused) {
			t.Errorf("in %d bytes: %d names, %v; %d are held", limit, len(names), err, share.Held())
		}
		share.Close()
	}
}
