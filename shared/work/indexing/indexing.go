// Package indexing builds indices of tables in jobs, because a build reads the whole column.
//
// One worker builds a small index as a whole. A large one is divided (package build): one worker
// trains the model that all shards use, many workers each read some rows and write shards, some
// join shards to segments, and one commits the segments:
//
//	build ─> train ─> shards: part 1 ┐─> join: part 1 ┐─> commit
//	                          part 2 ┤         part 2 ┘
//	                          part n ┘
//
// All parts read the version at which the job began. Rows deleted meanwhile do no harm. If the
// values of a fragment have changed, because a compaction has replaced it or its column was
// rewritten, the commit leaves it out of the segments; before that, the missing fragments pass
// through another round of shards, joins and commit. The same happens if a cleanup has deleted the
// version before all of its parts had read it. After the last round the job commits the segments
// that it has.
//
// Files to which no commit refers are garbage: files of shards, of parts that ran twice, and of
// jobs that ended. They are in the folder of index segments, where the cleanup of orphans finds
// them. Only the files of text joins that ran twice stay as long as the segment, because they are
// in its folder.
package indexing

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/indexbuild"
	"tiltyard/shared/engine/indices"
	"tiltyard/shared/jobs"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/tables"
)

// Kind is the kind of the jobs that build an index.
const Kind = "create_index"

// Names of stages. Rounds after the first append their number.
const (
	buildStage  = "build"
	trainStage  = "train"
	shardsStage = "shards"
	joinStage   = "join"
	commitStage = "commit"
)

// rounds bounds the rounds of a job.
const rounds = 3

// Create returns the kind of job that builds an index.
func Create(on tables.Tables, sizes Sizes) jobs.Kind {
	b := builder{on, sizes}
	stages := []jobs.Stage{{Name: buildStage, Do: b.build}}
	before := buildStage // the stage whose result is the division for the round
	for n := range rounds {
		r := round{builder: b, number: n, division: before}
		if n == 0 {
			stages = append(stages, jobs.Stage{Name: trainStage, Do: r.train})
		}
		stages = append(stages,
			jobs.Stage{Name: stageOf(shardsStage, n), Parts: r.shards, Estimate: r.effort, Do: r.shard},
			jobs.Stage{Name: stageOf(joinStage, n), Parts: r.joins, Estimate: r.effortOfJoin, Do: r.join},
			jobs.Stage{Name: stageOf(commitStage, n), Do: r.commit},
		)
		before = stageOf(commitStage, n)
	}
	return jobs.Kind{Stages: stages}
}

// stageOf returns the name of a stage in a round, which counts from 0: join, join-2, join-3.
func stageOf(name string, round int) string {
	if round == 0 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, round+1)
}

// A builder runs the stages of jobs.
type builder struct {
	on    tables.Tables
	sizes Sizes
}

// result is the result of a job.
type result struct {
	Version int64 `json:"version"` // version of the table that has the index
}

// change commits to the table of a job, at most once.
func (b builder) change(ctx context.Context, r *jobs.Run, branch string, commit func(t tables.Table) (engine.Written, error)) (result, error) {
	done, err := b.on.Open(r.Object(), branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		t.Table = t.As(r.Attempt)
		done, err := commit(t)
		if err == nil && branch == "" {
			t.Found.HintNow(ctx, uint64(done.Version))
		}
		return done, err
	})
	return result{done.Version}, err
}

// build builds a small index as a whole, which ends the job. For a large one it returns the division.
func (b builder) build(ctx context.Context, r *jobs.Run) (any, error) {
	var order Order
	if err := r.Input(&order); err != nil {
		return nil, err
	}
	n := order.index()
	var watching counter
	n.Watch = watching.watch(r)
	done, err := b.change(ctx, r, order.Branch, func(t tables.Table) (engine.Written, error) {
		return indices.Create(ctx, t.Table, small{n, b.sizes, &watching})
	})
	if errors.Is(err, errDivided) {
		return b.divide(ctx, r, order)
	}
	return jobs.End{Result: done}, err
}

// errDivided ends a commit whose index must be built in parts first.
var errDivided = errors.New("the index is built in parts")

// small is an index that one worker builds as a whole. Resolve returns errDivided if the index is
// too large.
type small struct {
	indexbuild.Index
	sizes Sizes
	rows  *counter
}

// Resolve implements engine.NewIndex.
func (s small) Resolve(d *dataset.Dataset) (segments.NewIndex, error) {
	n, err := s.Index.Resolve(d)
	if err != nil {
		return n, err
	}
	parts, err := s.Divide(d)
	if err != nil {
		return n, err
	}
	if s.sizes.shards(d, parts) > 1 {
		return n, errDivided
	}
	s.rows.begin(d.CountRows())
	return n, nil
}

// A counter counts the processed rows of a run.
type counter struct{ rows, total atomic.Int64 }

// begin resets the counter.
func (c *counter) begin(total int64) {
	c.rows.Store(0)
	c.total.Store(total)
}

// watch returns a function that adds processed rows and reports the progress of the run.
func (c *counter) watch(r *jobs.Run) func(rows int64) {
	return func(rows int64) {
		done := c.rows.Add(rows)
		total := c.total.Load()
		r.Progress(jobs.Progress{Done: min(done, total), Total: total, Rows: done})
	}
}
