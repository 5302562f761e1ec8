package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/lance/dataset"
)

// A change that conflicts with other writers each time it is planned is made nevertheless, because
// it finally goes before them.
func TestChangeGoesThroughDespiteConflictingWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		table := enginetest.Create(t, arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), `[{"n": 1}, {"n": 2}]`)
		var others []chan error
		plan := func(ctx context.Context, d *dataset.Dataset) (*engine.Chosen, error) {
			rows, err := table.Engine().Choose(ctx, d, "n = 1")
			other := make(chan error, 1)
			others = append(others, other)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err := table.Update(context.Background(), []engine.Assignment{{Column: "n", SQL: "n"}}, "n = 1")
				other <- err
			}()
			select {
			case <-done:
			case <-time.After(time.Second): // it waits
			}
			return rows, err
		}
		_, made, err := engine.Change(ctx, table, plan, func(ctx context.Context, rows *engine.Chosen) (dataset.Commit, error) {
			return rows.Delete(ctx, "n = 1")
		})
		if err != nil || made.Dataset.CountRows() != 1 {
			t.Fatalf("got %+v, %v; want one row less", made, err)
		}
		for i, other := range others {
			if err := <-other; err != nil {
				t.Errorf("other %d: %v", i, err)
			}
		}
		if len(others) <= engine.Patience {
			t.Errorf("it was worked out %d times: nobody was in its way", len(others))
		}
	})
}
