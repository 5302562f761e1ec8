package indexing_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/work/indexing"
)

// compact joins all fragments of the table, and segments follow.
func (h *house) compact(t *testing.T) {
	t.Helper()
	h.change(t, func(at *engine.Table) (engine.Written, error) {
		done, err := maintenance.Compact(t.Context(), at, compaction.Options{Extend: indexbuild.Extender{}})
		return engine.Written{Version: done.Version}, err
	})
}

// Many workers fold rows into an index: their segments take the place of others, or stand beside them. When the index or
// the rows change meanwhile, what does not fit any more is left to a later job.
func TestWorkersFoldRowsIntoAnIndex(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, h *house, n indexbuild.Index) // before the first join
		left      int64                                            // rows that no segment covers in the end
		dropped   bool
	}{
		"nothing":          {meanwhile: func(*testing.T, *house, indexbuild.Index) {}},
		"rows are added":   {meanwhile: func(t *testing.T, h *house, _ indexbuild.Index) { h.insert(t, 5000, 9) }, left: 9},
		"rows are deleted": {meanwhile: func(t *testing.T, h *house, _ indexbuild.Index) { h.remove(t, "id % 2 = 0") }},
		"a compaction":     {meanwhile: func(t *testing.T, h *house, _ indexbuild.Index) { h.compact(t) }, left: 120},
		"the index is anew": {meanwhile: func(t *testing.T, h *house, n indexbuild.Index) {
			n.Replace = true
			open(t, h.objects, large).build(t, n, nil)
		}},
		"the index is gone": {meanwhile: func(t *testing.T, h *house, n indexbuild.Index) {
			h.change(t, func(at *engine.Table) (engine.Written, error) { return indices.Drop(t.Context(), at, n.Name) })
		}, dropped: true},
	} {
		for _, n := range []indexbuild.Index{orders[0], others[0], others[2], vectors("IVF_FLAT"), vectors("IVF_PQ"), vectors("IVF_RQ")} {
			t.Run(name+", "+n.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					objects := memstore.New()
					h := open(t, objects, large)
					h.create(t, 60, 37, 300)
					h.build(t, n, nil)
					h.insert(t, 1000, 80)
					h.insert(t, 2000, 40)
					x, err := enginetest.Index(t.Context(), h.at(t), n.Name)
					if err != nil {
						t.Fatal(err)
					}
					h = open(t, objects, sized(few, n))
					begun, err := h.Jobs.Begin(t.Context(), indexing.FoldKind, table, indexing.NewFold(x, ""))
					if err != nil {
						t.Fatal(err)
					}
					h.work(t, func(m jobs.Message) {
						if m.Stage == "join" && m.Part == 1 {
							c.meanwhile(t, h, n)
						}
					})
					done, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: begun.ID})
					if err != nil || done.Status != transactionapi.Succeeded || !slices.Contains(h.seen, "shards 2") {
						t.Fatalf("the job is %s in stage %s: %s; parts %v, error %v", done.Status, done.Work.Stage, done.Failure, h.seen, err)
					}
					if x, err = enginetest.Index(t.Context(), h.at(t), n.Name); c.dropped {
						if err == nil {
							t.Errorf("the index is there again: %+v", x)
						}
						return
					}
					if err != nil || x.Unindexed != c.left {
						t.Errorf("%d rows are in no segment, want %d; %v", x.Unindexed, c.left, err)
					}
					if n.Name == "IVF_PQ" || n.Name == "IVF_RQ" {
						if len(h.nearest(t, false)) != 40 || len(h.warnings) > 0 {
							t.Errorf("vectors are not found; %v", h.warnings)
						}
					} else if wrong := h.check(t, n); wrong != "" {
						t.Error(wrong)
					}
					if name == "nothing" && fmt.Sprint(done.Work.Stage) != "commit" {
						t.Errorf("the job ended in stage %s", done.Work.Stage)
					}
				})
			})
		}
	}
}
