package simulation_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/indexing"
	"tiltyard/shared/work/refresh"
	"tiltyard/shared/work/udfcall"
)

// What is here is for histories in which workers do jobs of all kinds. Clients take messages to
// instances as in jobs_test.go.

// smallParts divide the build of an index of a table of few rows into a few parts.
var smallParts = map[string]indexing.Sizes{
	"sorted": {Time: 10 * time.Microsecond, Memory: 900},
	"words":  {Time: 400 * time.Microsecond, Memory: 150_000},
	"near":   {Time: 20 * time.Microsecond, Memory: 1400},
}

// workers returns the services of an instance that has a worker.
func workers(w *world, stores tables.Stores) all.Services {
	logger := loggerTo(func(line string) { w.note("log: %s", line) })
	stores.Logger = logger
	runtimes := udf.Runtimes{"simulated": simulated{w}}
	services := all.Open(stores, all.Options{RequestTimeout: requestTimeout, Logger: logger, Keys: simulatedKeys{}, Runtimes: runtimes})
	services.Worker.Kinds[indexing.Kind] = indexing.Create(tables.Open(stores), smallParts[w.indexName()])
	if w.seed/2%2 == 0 { // the refresh of more than a few rows has parts
		sizes := materialize.Sizes{Whole: 4, Rows: 5, Parts: 4}
		services.Worker.Kinds[refresh.Kind] = refresh.Refresh(tables.Open(stores), udfcall.Directory{}, sizes)
	}
	if w.seed%3 > 0 { // the fill of more than a few rows has rounds of parts
		on := tables.Open(stores)
		services.Worker.Kinds[backfill.Kind] = backfill.Fill(on, work.Functions(on, simulatedKeys{}, runtimes), smallFills)
	}
	return services
}

// smallFills divide the fill of a table of few rows into a few parts.
var smallFills = fill.Sizes{Whole: 4, Rows: 6, Calls: 6, Parts: 4, CallParts: 4}

// lines is called with each line of a log.
type lines func(line string)

func (l lines) Write(line []byte) (int, error) {
	l(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

func loggerTo(l lines) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// anything is an operation of which the model knows nothing: what comes of it is looked at otherwise.
// It may be refused with some codes.
func anything(domain, text string, r request, codes ...int) *op {
	return &op{domain: domain, text: text, request: r, apply: reading(func(_ facts, o outcome) bool {
		return o.ok() || o.refusedWith(codes...)
	})}
}

// beginning is an operation that begins a job.
func (c *client) beginning(domain, text string, r request, codes ...int) *op {
	o := anything(domain, text, r, codes...)
	o.learn = func(o outcome) {
		if !o.ok() {
			return
		}
		var told struct {
			JobID string `json:"job_id"`
		}
		if o.decode(&told); told.JobID != "" {
			c.world.queue.begun = append(c.world.queue.begun, told.JobID)
		}
	}
	return o
}

// drawWork goes on with a job, or cancels, pauses or resumes one. It is nil when there is none.
func (c *client) drawWork(domain string) *op {
	q := c.world.queue
	if c.rng.IntN(8) > 0 {
		if m, dead, ok := q.take(c.world); ok {
			return c.work(m, dead)
		}
	}
	if len(q.begun) == 0 {
		return nil
	}
	id := q.begun[c.rng.IntN(len(q.begun))]
	what := []string{"cancel", "pause", "pause", "resume", "resume", "resume"}[c.rng.IntN(6)]
	return anything(domain, what+" job "+id, post("/v1/jobs/"+what, map[string]string{"job_id": id}), conflicting)
}

// conflicting is the code of what another one has made impossible.
const conflicting = 14

// finishWork lets workers do what there is to do, and resumes what does not go on. Then every job has
// ended, and told the truth about that: it has made its commit, once, or none. fails says whether a job
// may have failed so.
func (c *client) finishWork(domain string, fails func(failure string) bool) {
	c.workAll()
	c.reviveAll()
	for range 2 {
		for _, id := range c.world.queue.begun {
			c.do(anything(domain, "resume job "+id, post("/v1/jobs/resume", map[string]string{"job_id": id}), conflicting))
		}
		c.workAll()
		c.reviveAll()
	}
	for _, id := range c.world.queue.begun {
		c.do(c.endedJob(domain, id, fails))
	}
}

// endedJob describes a job, which has ended.
func (c *client) endedJob(domain, id string, fails func(failure string) bool) *op {
	o := anything(domain, "describe job "+id, post("/v1/transaction/"+id+"/describe", map[string]any{}))
	o.learn = func(o outcome) {
		var told struct {
			Status     transactionapi.Status
			Properties map[string]string
		}
		if !o.ok() {
			return
		}
		o.decode(&told)
		failure := told.Properties["error"]
		kind, result := c.world.witness.job(id)
		made := c.world.witness.commits[uuid.NewSHA1(uuid.NameSpaceOID, []byte(id)).String()]
		commits := (kind == indexing.Kind || kind == refresh.Kind) && !strings.Contains(result, `"no_op"`)
		switch {
		case !told.Status.Ended():
			c.world.witness.saw("job %s of kind %s is %s in the end", id, kind, told.Status)
		case told.Status == transactionapi.Succeeded && commits && len(made) != 1:
			c.world.witness.saw("job %s has succeeded: %s, and made the versions %v", id, result, made)
		case told.Status == transactionapi.Failed && (len(made) > 0 || !fails(failure)):
			c.world.witness.saw("job %s of kind %s has failed: %s; it made the versions %v", id, kind, failure, made)
		}
		c.world.witness.counts[fmt.Sprint(kind, " ", told.Status)]++
		c.world.witness.counts[fmt.Sprint(kind, " ended in stage ", told.Properties["stage"])]++
	}
	return o
}

// job returns the kind and the result of a job as its record has them.
func (o *witness) job(id string) (kind, result string) {
	found, err := transaction.Open(o.world.stillRecords(), time.Now).Job(background, transaction.Unit{Job: id})
	if err != nil {
		o.saw("job %s: %v", id, err)
		return "", ""
	}
	return found.Kind, string(found.Result)
}

// jobs returns all jobs as their records have them.
func (w *world) jobs() (all []*transaction.Transaction) {
	for after := ""; ; {
		page, next, err := transaction.Open(w.stillRecords(), time.Now).Jobs(background, after, 100)
		if err != nil {
			panic(err)
		}
		if all, after = append(all, page...), next; next == "" {
			return all
		}
	}
}

// A witness looks at each version of some tables when it becomes one.
type witness struct {
	world *world
	// look returns what is wrong with a version of a table that it is about.
	look func(ctx context.Context, t *engine.Table, d *dataset.Dataset) (wrong string)

	newest   map[string]uint64   // version, by place
	commits  map[string][]uint64 // versions by the id of their transaction
	counts   map[string]int      // of what was looked at, and of jobs by what became of them
	warnings []string            // of readers

	source  sourceMoment              // the last one, see views_test.go
	sources map[sourceMoment][]string // the rows of a view at versions of its source
	added   []int                     // what clients know to be there, see uploads_test.go
	numbers map[int64]map[int64]bool  // those that a row has had, by its id, see fills_test.go
	present string                    // the rows of the last version
}

func newWitness(w *world) *witness {
	return &witness{world: w, newest: map[string]uint64{}, commits: map[string][]uint64{}, counts: map[string]int{}, sources: map[sourceMoment][]string{}, numbers: map[int64]map[int64]bool{}}
}

// saw notes what is wrong; the first thing counts.
func (o *witness) saw(format string, args ...any) {
	if o.world.wrong == "" {
		o.world.wrong = fmt.Sprintf(format, args...)
		o.world.note("WRONG: %s", o.world.wrong)
	}
}

// still returns the bucket as it is, for who does not need the scheduler.
func (w *world) still() objectstore.Store {
	return &direct{func(_ context.Context, s *sent) verdict {
		if s.isWrite() {
			return verdict{answer: refusal(http.StatusForbidden, "AccessDenied")}
		}
		_, clock := w.now()
		return verdict{answer: w.bucket.serve(s, clock)}
	}}
}

// stillRecords are the records as they are.
func (w *world) stillRecords() record.Store {
	if w.files {
		return objectrecord.Open(w.still(), w.nowClock)
	}
	return &records{func(_ context.Context, s *sent) verdict { return verdict{answer: w.table.serve(s)} }, w.nowClock}
}

func (w *world) nowClock() time.Time {
	_, clock := w.now()
	return clock
}

// at returns a table as it lies in the bucket, for a reader that knows nothing of it yet.
func (o *witness) at(place string) *engine.Table {
	session := dataset.NewSession(1<<20, func() time.Time { return o.world.clock })
	rows := engine.New(session, engine.Limits{})
	rows.Logger = loggerTo(func(line string) { o.warnings = append(o.warnings, line) })
	return rows.Table([]string{place}, objectstore.Location{URI: "s3://bucket/" + place, Store: o.world.still(), Prefix: place})
}

// published is called with each manifest. Late ones, of versions that were deleted, are of no account.
func (o *witness) published(key string) {
	m, err := manifest.Parse(o.world.bucket.objects[key].data)
	if err != nil {
		o.saw("manifest %s: %v", key, err)
		return
	}
	place, _, _ := strings.Cut(key, "/")
	if m.Version <= o.newest[place] {
		return
	}
	o.newest[place] = m.Version
	number := int64(m.Version)
	t := o.at(place)
	wrong, err := engine.Read(background, t, &number, func(ctx context.Context, d *dataset.Dataset) (string, error) {
		id := d.TransactionUUID()
		if o.commits[id] = append(o.commits[id], m.Version); len(o.commits[id]) > 1 {
			return fmt.Sprintf("transaction %s made the versions %v", id, o.commits[id]), nil
		}
		return o.look(ctx, t, d), nil
	})
	if err != nil {
		wrong = err.Error()
	}
	if len(o.warnings) > 0 {
		wrong += strings.Join(o.warnings, "; ")
	}
	if wrong != "" {
		o.saw("version %d of %s: %s", m.Version, place, wrong)
	}
}

// playDomain plays histories of one domain, a tenth of them when tests are to be short.
// The witnesses must have counted some things.
func playDomain(t *testing.T, about domain, seeds int, counted ...string) {
	settleDown(t)
	if *seedFlag != 0 {
		r := simulate(t, *seedFlag, []domain{about}, bug{})
		r.report(t)
		if r.failure != "" {
			t.Error(r.failure)
		}
		return
	}
	if testing.Short() {
		seeds /= 10
	}
	if *seedsFlag > 0 {
		seeds = *seedsFlag
	}
	processes(t, func(share, of int) {
		played := tally{about: func(uint64) []domain { return []domain{about} }, counts: map[string]int{}}
		played.all(t, uint64(share), uint64(of), uint64(seeds))
		t.Logf("%v", played.counts)
		for _, what := range counted {
			if played.counts[what] == 0 {
				t.Errorf("%s: none were there", what)
			}
		}
	})
}

func TestIndicesAreRightInEachVersion(t *testing.T) {
	playDomain(t, indices, 150, "sorted", "words", "near", "create_index Succeeded", "create_index Canceled", "maintain Succeeded",
		"messages that came twice", "messages that came again")
}

func TestViewsShowTheirSourceInEachVersion(t *testing.T) {
	playDomain(t, views, 200, "mode incremental", "mode rebuild", "stamps",
		"refresh_materialized_view Succeeded", "refresh_materialized_view ended in stage commit")
}
