package indexing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/cleanup"
	"tiltyard/shared/lance/dataset/compaction"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// The table may change while parts are built: the job goes through the fragments that others have
// replaced again.
func TestBuildFollowsATableThatChanges(t *testing.T) {
	type change func(t *testing.T, h *house)
	compact := func(t *testing.T, h *house) {
		h.change(t, func(at *engine.Table) (engine.Written, error) {
			made, err := maintenance.Compact(t.Context(), at, compaction.Options{})
			return made.Written, err
		})
	}
	for name, c := range map[string]struct {
		at     map[string]change // before a stage is begun
		rounds int
	}{
		"nothing":                      {nil, 1},
		"rows are deleted":             {map[string]change{"join": func(t *testing.T, h *house) { h.remove(t, "id % 5 = 2") }}, 1},
		"rows are added":               {map[string]change{"shards": func(t *testing.T, h *house) { h.insert(t, 1000, 30) }}, 1},
		"a compaction before shards":   {map[string]change{"shards": compact}, 2},
		"a compaction before joins":    {map[string]change{"join": compact}, 2},
		"a compaction after additions": {map[string]change{"join": func(t *testing.T, h *house) { h.insert(t, 1000, 30); compact(t, h) }}, 2},
		"values change": {map[string]change{"join": func(t *testing.T, h *house) {
			h.change(t, func(at *engine.Table) (engine.Written, error) {
				return at.Update(t.Context(), []engine.Assignment{{Column: "n", SQL: "7"}, {Column: "s", SQL: "'ember'"}}, "id < 30")
			})
		}}, 1},
		"two compactions": {map[string]change{"join": compact, "join-2": func(t *testing.T, h *house) {
			h.remove(t, "id % 2 = 0")
			compact(t, h)
		}}, 3},
	} {
		for _, n := range several {
			t.Run(name+", "+n.Name, func(t *testing.T) {
				h := open(t, memstore.New(), sized(few, n))
				h.create(t, 60, 37, 80)
				begun := map[string]bool{}
				done := h.build(t, n, func(m jobs.Message) {
					if do := c.at[m.Stage]; do != nil && !begun[m.Stage] {
						do(t, h)
					}
					begun[m.Stage] = true
				})
				want := "commit"
				if c.rounds > 1 {
					want = fmt.Sprintf("commit-%d", c.rounds)
				}
				if done.Work.Stage != want {
					t.Errorf("the job ended in stage %s, want %s", done.Work.Stage, want)
				}
				if wrong := h.check(t, n); wrong != "" {
					t.Error(wrong)
				}
				if c.rounds < 3 && name != "rows are added" && name != "values change" {
					h.covered(t, n.Name, 1, 4)
				}
			})
		}
	}
}

// clean writes to the table and deletes all versions before that. Then the work goes on in a process that
// has read none of them.
func (h *house) clean(t *testing.T, from int) {
	h.insert(t, from, 2)
	if _, err := cleanup.DeleteVersions(t.Context(), h.at(t).Data(), func(uint64) bool { return true }, false); err != nil {
		t.Fatal(err)
	}
	h.worker.Kinds = open(t, h.objects, few).worker.Kinds
}

// When the version of a build is cleaned up, the build begins again with the newest one, but not forever.
func TestBuildBeginsAgainWhenItsVersionIsCleanedUp(t *testing.T) {
	for name, c := range map[string]struct {
		part  string // before it is begun, the version is cleaned up
		stage string // in which the job ends
		fails string
	}{
		"before shards":                {part: "shards 1", stage: "commit-2"},
		"between shards":               {part: "shards 3", stage: "commit-2"},
		"before joins":                 {part: "join 1", stage: "commit-2"},
		"before joins of the round 2":  {part: "shards 2,join-2 1", stage: "commit-3"},
		"before shards of all rounds":  {part: "shards 1,shards-2 1,shards-3 1", stage: "commit-3", fails: "versions of the table were deleted"},
		"before shards of two rounds":  {part: "shards 1,shards-2 1", stage: "commit-3"},
		"between shards of last round": {part: "shards 1,shards-2 2,shards-3 2", stage: "commit-3", fails: "versions of the table were deleted"},
	} {
		for _, n := range several {
			t.Run(name+", "+n.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := open(t, memstore.New(), few)
					h.create(t, 60, 37, 80)
					times, begun := 0, h.begin(t, n)
					h.work(t, func(m jobs.Message) {
						if slices.Contains(strings.Split(c.part, ","), fmt.Sprint(m.Stage, " ", m.Part)) {
							times++
							h.clean(t, 1000*times)
						}
					})
					done, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: begun})
					if err != nil || done.Work.Stage != c.stage || times != 1+strings.Count(c.part, ",") {
						t.Fatalf("the job is %s in stage %s, want %s, after %d cleanups: %s %v", done.Status, done.Work.Stage, c.stage, times, done.Failure, err)
					}
					if c.fails != "" {
						if done.Status != transactionapi.Failed || !strings.Contains(done.Failure, c.fails) {
							t.Errorf("the job is %s: %q; want a failure with %q", done.Status, done.Failure, c.fails)
						}
						return
					}
					if wrong := h.check(t, n); done.Status != transactionapi.Succeeded || wrong != "" {
						t.Errorf("the job is %s: %s; %s", done.Status, done.Failure, wrong)
					}
					if x, err := enginetest.Index(t.Context(), h.at(t), n.Name); err != nil || x.Unindexed != 0 {
						t.Errorf("%d rows are in no segment; %v", x.Unindexed, err)
					}
				})
			})
		}
	}
}

// The cleanup of orphans may take what parts have written, when a build was paused for long. Then the build begins again.
func TestFilesOfPartsMayBeCleanedUpMeanwhile(t *testing.T) {
	for _, stage := range []string{"join", ""} { // the latter is that of the commit, after the joins
		for _, n := range several {
			if n.Kind == indexmeta.Vector {
				continue // a build of vectors whose model is gone fails
			}
			t.Run(n.Name+" at "+stage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := open(t, memstore.New(), sized(few, n))
					h.create(t, 60, 37, 80)
					swept, joins := false, false
					done := h.build(t, n, func(m jobs.Message) {
						if joins = joins || m.Stage == "join"; m.Stage != stage || !joins || swept {
							return
						}
						swept = true
						time.Sleep(8 * 24 * time.Hour)
						if _, err := maintenance.DeleteOrphans(t.Context(), h.at(t), time.Now().Add(-time.Hour), false, func(int) error { return nil }); err != nil {
							t.Fatal(err)
						}
					})
					if wrong := h.check(t, n); wrong != "" || done.Work.Stage != "commit-2" {
						t.Errorf("the job ended in stage %s: %s", done.Work.Stage, wrong)
					}
					h.covered(t, n.Name, 1, 4)
				})
			})
		}
	}
}

// A build ends when another one of its name is first, or when its table is dropped, also when there is
// another table of the name then.
func TestBuildMayBeLate(t *testing.T) {
	late := map[string]struct {
		do   func(t *testing.T, h *house)
		want string
	}{
		"another build": {func(t *testing.T, h *house) {
			h.change(t, func(at *engine.Table) (engine.Written, error) { return indices.Create(t.Context(), at, orders[0]) })
		}, "there is such an index already"},
		"no table": {func(t *testing.T, h *house) {
			if _, err := h.Names.DropTable(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}, "does not exist"},
		"another table": {func(t *testing.T, h *house) {
			if _, err := h.Names.DropTable(t.Context(), table); err != nil {
				t.Fatal(err)
			}
			h.create(t, 60, 37, 80)
		}, "replaced"},
	}
	for name, c := range late {
		for _, stage := range []string{"shards", "join"} {
			t.Run(name+" at "+stage, func(t *testing.T) {
				h := open(t, memstore.New(), few)
				h.create(t, 60, 37, 80)
				id, begun := h.begin(t, orders[0]), false
				h.work(t, func(m jobs.Message) {
					if m.Stage == stage && !begun {
						begun = true
						c.do(t, h)
					}
				})
				done, err := h.Transactions.Job(t.Context(), transaction.Unit{Job: id})
				if err != nil || done.Status != transactionapi.Failed || !strings.Contains(done.Failure, c.want) {
					t.Errorf("got %s %q, %v; want a failure with %q", done.Status, done.Failure, err, c.want)
				}
			})
		}
	}
}
