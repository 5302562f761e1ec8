package maintain_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/indexing"
	"tiltyard/shared/work/maintain"
)

// many returns n rows with ids from a number on.
func many(from, n int64) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	for id := from; id < from+n; id++ {
		ids.Append(id)
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{ids.NewArray()}, n)
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// What is too much for one worker is folded into an index by a job of its own. A job of maintenance that a client asked
// for waits for it, and others do not.
func TestLargeFoldsAreLeftToManyWorkers(t *testing.T) {
	for name, gradual := range map[string]bool{"asked for": false, "not asked for": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, memstore.New())
				h.keeper.Extend = indexbuild.Extender{}
				h.keeper.Parts = indexing.Sizes{Time: time.Millisecond, Memory: 20_000}
				h.create(t, nil, map[string]string{upkeep.PropertyMode: "off"})
				change := func(work func(at *engine.Table) (engine.Written, error)) {
					t.Helper()
					if _, err := h.tables.Open(table, "").Commit(t.Context(), func(t tables.Table) (engine.Written, error) { return work(t.Table) }); err != nil {
						t.Fatal(err)
					}
				}
				change(func(at *engine.Table) (engine.Written, error) {
					return indices.Create(t.Context(), at, indexbuild.Index{Name: "x", Column: "id", Kind: indexmeta.BTree})
				})
				change(func(at *engine.Table) (engine.Written, error) { return at.Insert(t.Context(), many(1, 4000)) })
				h.worker.Kinds[indexing.FoldKind] = indexing.Fold(h.tables, h.keeper.Parts)
				maintained, err := h.tables.Jobs.Begin(t.Context(), tables.MaintainKind, table, maintain.Order{Indices: true, Gradual: gradual})
				if err != nil {
					t.Fatal(err)
				}
				h.work(t, 10*time.Minute)
				jobs, _, err := h.tables.Jobs.Transactions.Jobs(t.Context(), "", 10)
				if err != nil {
					t.Fatal(err)
				}
				folds := 0
				for _, j := range jobs {
					if j.Status != transactionapi.Succeeded {
						t.Errorf("job %s is %s: %s", j.Kind, j.Status, j.Failure)
					}
					if j.Kind == indexing.FoldKind {
						folds++
						if j.Work.Stage != "commit" {
							t.Errorf("the index was folded in stage %s", j.Work.Stage)
						}
					}
					if j.ID == maintained.ID {
						var report maintain.Report
						if err := json.Unmarshal(j.Result, &report); err != nil || (report.IndicesFolded == 1) == gradual {
							t.Errorf("the report is %+v, error %v", report, err)
						}
					}
				}
				found, err := h.tables.Names.Table(t.Context(), table)
				if err != nil {
					t.Fatal(err)
				}
				x, err := enginetest.Index(t.Context(), h.tables.At(found), "x")
				if err != nil || folds != 1 || x.Unindexed != 0 || x.Indexed != 4001 {
					t.Errorf("%d jobs folded; the index covers %d rows and not %d; %v", folds, x.Indexed, x.Unindexed, err)
				}
			})
		})
	}
}
