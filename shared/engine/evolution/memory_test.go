package evolution_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/snapshot"
)

// Values of new columns that are much larger than their rows are computed for as many rows at a time as fit into memory.
func TestLargeNewColumnsAreWrittenInParts(t *testing.T) {
	const rows, share = 4_000, 64 << 20
	longer := "repeat(text, 50)"
	for _, c := range []struct {
		name  string
		table func() *engine.Table
		row   string // the column with the number of the row
		grow  func(ctx context.Context, table *engine.Table) error
		bytes int64
	}{
		{"added columns", func() *engine.Table {
			return enginetest.CreateOf(t, enginetest.Numbered(0, rows, 400), dataset.CreateOptions{})
		}, "n", func(ctx context.Context, table *engine.Table) error {
			_, err := evolution.AddColumns(ctx, table, []engine.Assignment{{Column: "made", SQL: longer}})
			return err
		}, 50 * 400 * rows},
		{"a backfill", func() *engine.Table {
			return enginetest.CreateOf(t, enginetest.Numbered(0, rows, 400), dataset.CreateOptions{})
		}, "n", func(ctx context.Context, table *engine.Table) error {
			if _, err := evolution.AddComputedColumns(ctx, table, []engine.Assignment{{Column: "made", SQL: longer}}, computed.Schedule{}); err != nil {
				return err
			}
			_, err := fill.Run(ctx, table, fill.Order{Column: "made"})
			return err
		}, 50 * 400 * rows},
		{"a cast of a dictionary", func() *engine.Table { return enginetest.LongTexts(t, rows, 2, 20_000) }, "id", func(ctx context.Context, table *engine.Table) error {
			_, err := evolution.AlterColumns(ctx, table, []alter.Alteration{{Path: "d", Rename: "made", Type: arrow.BinaryTypes.LargeString}})
			return err
		}, 20_001 * rows},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := c.table()
			if _, err := table.Delete(t.Context(), c.row+" % 1000 = 7"); err != nil {
				t.Fatal(err)
			}
			ctx, held := enginetest.WithMemory(t, share)
			if err := c.grow(ctx, table); err != nil {
				t.Fatalf("%v; at most %d bytes were held", err, held.Peak())
			}
			total, deleted := int64(0), int64(4)
			err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
				_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"made"}})
				if err != nil {
					return err
				}
				for batch, err := range batches {
					if err != nil {
						return err
					}
					for i := range int(batch.NumRows()) {
						total += int64(len(batch.Column(0).ValueStr(i)))
					}
				}
				return nil
			})
			if want := c.bytes / rows * (rows - deleted); err != nil || total != want {
				t.Errorf("the rows have %d bytes, want %d; error %v", total, want, err)
			}
		})
	}
}
