package publishing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/engine"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/publishing"
)

// messages is a queue whose messages wait until the test does them, whatever their delay.
type messages struct {
	jobs.Queue
	waiting []jobs.Message
}

func (m *messages) Send(_ context.Context, _ time.Duration, all ...jobs.Message) error {
	m.waiting = append(m.waiting, all...)
	return nil
}

// A service is a process that announces changes.
type service struct {
	tables.Tables
	queue *messages
	now   func() time.Time
}

func open(t *testing.T, objects objectstore.Store, now func() time.Time) service {
	t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	s := service{queue: new(messages), now: now}
	s.Tables = tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, now), Now: now, CacheBytes: 1 << 20, Queue: s.queue,
		DropRetention: 24 * time.Hour, EventSource: "urn:test",
	})
	return s
}

// work does the messages that wait, and those that follow from them.
func (s service) work(t *testing.T) {
	t.Helper()
	names := 0
	worker := &jobs.Worker{
		Starter: *s.Jobs, Kinds: publishing.Kinds(s.Announcer), Now: s.now, Logger: slog.New(slog.DiscardHandler),
		Name: func() string { names++; return fmt.Sprint(names) },
	}
	for len(s.queue.waiting) > 0 {
		next := s.queue.waiting[0]
		s.queue.waiting = s.queue.waiting[1:]
		if err := worker.Do(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
}

// announceAll does the regular poll of everything.
func (s service) announceAll(t *testing.T) {
	t.Helper()
	if err := s.Jobs.Suggest(t.Context(), changefeed.AllKind, nil, 0); err != nil {
		t.Fatal(err)
	}
	s.work(t)
}

func rows(n int) dataset.Rows {
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(fmt.Sprintf(`[{"id": %d}]`, n)))
	if err != nil {
		panic(err)
	}
	return dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// A step is one change.
type step func(ctx context.Context, s service) error

func split(id string) []string { return strings.Split(id, "/") }

func createNamespace(id string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.Namespaces.Create(ctx, split(id), nil, namespaces.FailIfExists)
		return err
	}
}

func dropNamespace(id string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.Namespaces.Drop(ctx, split(id), true)
		return err
	}
}

func undropNamespace(id, to string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.Drops.UndropNamespace(ctx, split(id), "", split(to))
		return err
	}
}

func create(id string) step {
	return func(ctx context.Context, s service) error {
		at := s.Names.Places.New(split(id))
		if _, err := s.Rows.Table(split(id), at).Create(ctx, rows(0)); err != nil {
			return err
		}
		_, err := s.Names.CreateTable(ctx, split(id), at, 1, nil)
		return err
	}
}

func insert(id string) step { return insertInto(id, "") }

func insertInto(id, branch string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Open(split(id), branch).Commit(ctx, func(table tables.Table) (engine.Written, error) { return table.Insert(ctx, rows(1)) })
		return err
	}
}

func clone(id, to string) step {
	return func(ctx context.Context, s service) error {
		found, err := s.Names.Table(ctx, split(id))
		if err != nil {
			return err
		}
		at := s.Names.Places.New(split(to))
		made, err := s.At(found).CloneTo(ctx, s.Rows.Table(split(to), at), nil, true)
		if err != nil {
			return err
		}
		_, err = s.Names.CreateTable(ctx, split(to), at, uint64(made.Version), nil)
		return err
	}
}

func branch(id, name string) step {
	return func(ctx context.Context, s service) error {
		found, err := s.Names.Table(ctx, split(id))
		if err != nil {
			return err
		}
		if _, err := branches.Create(ctx, s.At(found).Data(), name, "", 0); err != nil {
			return err
		}
		s.Names.Committed(ctx, split(id), name)
		return nil
	}
}

func deleteBranch(id, name string) step {
	return func(ctx context.Context, s service) error {
		found, err := s.Names.Table(ctx, split(id))
		if err == nil {
			err = s.Announcer.BeforeDeleted(ctx, split(id), name)
		}
		if err != nil {
			return err
		}
		return branches.Delete(ctx, s.At(found).Data(), name)
	}
}

func rename(id, to string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.RenameTable(ctx, split(id), split(to))
		return err
	}
}

func drop(id string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.DropTable(ctx, split(id))
		return err
	}
}

func undrop(id, to string) step {
	return func(ctx context.Context, s service) error {
		_, err := s.Names.Drops.UndropTable(ctx, split(id), "", split(to))
		return err
	}
}

// lives are what happens to objects, and the changes that are announced when nothing goes wrong.
var lives = []struct {
	name  string
	steps []step
	want  []string
}{
	{"a table that is dropped", []step{create("t"), insert("t"), drop("t")},
		[]string{"table.created t", "table.committed t", "table.committed t", "table.dropped t"}},
	{"a table that is renamed, and renamed back", []step{create("t"), rename("t", "u"), insert("u"), rename("u", "t"), insert("t")},
		[]string{"table.created t", "table.committed t", "table.renamed u", "table.committed u", "table.renamed t", "table.committed t"}},
	{"a table that takes the name of another one", []step{create("t"), create("u"), drop("t"), rename("u", "t"), insert("t")},
		[]string{"table.created t", "table.committed t", "table.dropped t", "table.created u", "table.committed u", "table.renamed t", "table.committed t"}},
	{"a table that is restored", []step{create("t"), insert("t"), drop("t"), undrop("t", "t"), insert("t")},
		[]string{"table.created t", "table.committed t", "table.committed t", "table.dropped t", "table.restored t", "table.committed t"}},
	{"a table that is restored under another name", []step{create("t"), drop("t"), undrop("t", "u"), drop("u")},
		[]string{"table.created t", "table.committed t", "table.dropped t", "table.restored u", "table.dropped u"}},
	{"a table with branches", []step{create("t"), branch("t", "a"), insertInto("t", "a"), branch("t", "b"), insert("t"), insertInto("t", "a")},
		[]string{"table.created t", "table.committed t", "table.committed t", "branch.committed t@a", "branch.committed t@a", "branch.committed t@a", "branch.committed t@b"}},
	{"a clone, which begins with the version of its source", []step{create("t"), insert("t"), clone("t", "u"), drop("t"), insert("u")},
		[]string{"table.created t", "table.committed t", "table.committed t", "table.dropped t", "table.created u", "table.committed u", "table.committed u"}},
	{"a branch of a table that is renamed and restored", []step{create("t"), branch("t", "a"), rename("t", "u"), insertInto("u", "a"), drop("u"), undrop("u", "t"), insertInto("t", "a")},
		[]string{"table.created t", "table.committed t", "branch.committed t@a", "table.renamed u", "branch.committed u@a", "table.dropped u", "table.restored t", "branch.committed t@a"}},
	{"a branch that is deleted and made again", []step{create("t"), branch("t", "a"), insertInto("t", "a"), deleteBranch("t", "a"), insert("t"), branch("t", "a"), insertInto("t", "a")},
		[]string{"table.created t", "table.committed t", "branch.committed t@a", "branch.committed t@a", "table.committed t", "branch.committed t@a", "branch.committed t@a"}},
	{"a namespace", []step{createNamespace("n"), create("n/t"), dropNamespace("n")},
		[]string{"table.created n/t", "table.committed n/t", "table.dropped n/t", "namespace.created n", "namespace.dropped n"}},
	{"a namespace that is restored", []step{createNamespace("n"), create("n/t"), dropNamespace("n"), undropNamespace("n", "m"), insert("m/t")},
		[]string{"table.created n/t", "table.committed n/t", "table.dropped n/t", "table.restored m/t", "table.committed m/t", "namespace.created n", "namespace.dropped n", "namespace.restored m"}},
}

var errCrashed = errors.New("the process has crashed")

// A process dies at each of its requests in turn: before it, or after it and before the answer. Whatever it left,
// the regular poll of another one announces each change that took place, once: the events tell of each object
// where it is now, and how it came there.
func TestAnnouncerLosesNoChangeAfterACrash(t *testing.T) {
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			for n, crashed := 1, true; crashed; n++ {
				for _, after := range []bool{false, true} {
					now := time.Now()
					clock := func() time.Time { return now }
					inner := memstore.New()
					if _, err := open(t, inner, clock).Announcer.Outbox.Log.Since(t.Context()); err != nil {
						t.Fatal(err)
					}
					now = now.Add(time.Second)
					mortal := open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
						switch {
						case call.N < n:
							return faultstore.Fault{}
						case call.N == n && after:
							return faultstore.Fault{Lost: true}
						}
						return faultstore.Fault{Err: errCrashed}
					}), clock)
					var err error
					for _, step := range life.steps {
						now = now.Add(time.Second)
						if err = step(t.Context(), mortal); err != nil {
							break
						}
					}
					crashed = err != nil
					for range 2 {
						now = now.Add(2 * time.Hour)
						open(t, inner, clock).announceAll(t)
					}
					later := open(t, inner, clock)
					events := read(t, later)
					where := fmt.Sprintf("crash at %d, after it %v (%v)", n, after, err)
					checkAgainst(t, later, where, events)
					if got := changes(events); !crashed && !slices.Equal(got, life.want) {
						t.Errorf("got %q\nwant %q", got, life.want)
					}
				}
			}
		})
	}
}

// read returns all events.
func read(t *testing.T, s service) []eventapi.Event {
	t.Helper()
	page, err := s.Announcer.Outbox.Log.Read(t.Context(), outbox.Cursor{}, 1000, func(*eventapi.Event) bool { return true })
	if err != nil || page.More {
		t.Fatalf("got %v events, more %v, %v", len(page.Events), page.More, err)
	}
	return page.Events
}

// changes returns events in short, those of tables first, each in the order in which they came.
func changes(events []eventapi.Event) (list []string) {
	var uids []string
	of := map[string][]string{}
	for _, e := range events {
		if of[e.Data.UID] == nil {
			uids = append(uids, e.Data.UID)
		}
		of[e.Data.UID] = append(of[e.Data.UID], strings.TrimPrefix(string(e.Type), "tiltyard.")+" "+nameOf(e))
	}
	slices.SortStableFunc(uids, func(a, b string) int { return strings.Compare(of[b][0][:5], of[a][0][:5]) })
	for _, uid := range uids {
		list = append(list, of[uid]...)
	}
	return list
}

// nameOf returns the name of the object of an event, with the branch.
func nameOf(e eventapi.Event) string {
	name := strings.Join(e.Data.ID, "/")
	if e.Data.Branch != "" {
		name += "@" + e.Data.Branch
	}
	return name
}

// checkAgainst follows the events of each object, and compares where they end with the catalog.
func checkAgainst(t *testing.T, s service, where string, events []eventapi.Event) {
	t.Helper()
	type state struct {
		id      string
		version int64
	}
	told, seen := map[string]state{}, map[string]bool{}
	branches := map[string]int64{} // the versions of branches that were announced, by the beginning of their events
	lines := map[string]string{}   // these beginnings by the objects of the branches and their names
	begun := map[string]bool{}
	for _, e := range events {
		uid, id := e.Data.UID, strings.Join(e.Data.ID, "/")
		was, there := told[uid]
		ok := !seen[e.ID]
		seen[e.ID] = true
		switch e.Type {
		case eventapi.TableCreated, eventapi.NamespaceCreated:
			ok = ok && !begun[uid]
			begun[uid] = true
			told[uid] = state{id: id}
		case eventapi.TableRenamed:
			ok = ok && there && strings.Join(e.Data.FromID, "/") == was.id
			told[uid] = state{id, was.version}
		case eventapi.TableCommitted:
			cloned := was.version == 0 && e.Data.Operation == "Clone"
			ok = ok && there && was.id == id && (e.Data.Version == was.version+1 || cloned)
			told[uid] = state{id, e.Data.Version}
		case eventapi.BranchCommitted:
			line, _, _ := strings.Cut(e.ID, "/version/")
			last, begun := branches[line]
			ok = ok && there && was.id == id && (!begun || e.Data.Version == last+1)
			branches[line], lines[uid+"@"+e.Data.Branch] = e.Data.Version, line
		case eventapi.TableDropped, eventapi.NamespaceDropped:
			ok = ok && there && was.id == id && e.Data.Version == was.version
			delete(told, uid)
		case eventapi.TableRestored, eventapi.NamespaceRestored:
			ok = ok && !there && begun[uid]
			told[uid] = state{id, lastVersion(events, e.ID)}
		default:
			ok = false
		}
		if !ok {
			t.Errorf("%s: %s does not follow: %+v", where, e.ID, changes(events))
			return
		}
	}
	stands := map[string]state{}
	ids, err := s.Names.Lists.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		found, err := s.Names.Table(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		newest, err := s.At(found).Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stands[found.Lineage] = state{strings.Join(id, "/"), int64(newest)}
		standing, _, err := s.At(found).Data().Refs().Branches(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for name := range standing {
			on, err := s.On(t.Context(), found, name)
			if err != nil {
				t.Fatal(err)
			}
			newest, err := on.Newest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := branches[lines[found.Lineage+"@"+name]]; got != int64(newest) {
				t.Errorf("%s: branch %s of %s is at version %d, and announced up to %d", where, name, id, newest, got)
			}
		}
	}
	namespaces, _, err := s.Names.Lists.After(t.Context(), lists.Namespaces, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range namespaces {
		found, err := s.Names.Namespaces.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		stands[found.UID] = state{id: strings.Join(id, "/")}
	}
	if diff := cmp.Diff(stands, told, cmp.AllowUnexported(state{})); diff != "" {
		t.Errorf("%s: the catalog differs from what the events tell (-catalog +events):\n%s%q", where, diff, slices.Collect(maps.Keys(seen)))
	}
}

// lastVersion returns the last version that was announced of an object before an event.
func lastVersion(events []eventapi.Event, before string) (version int64) {
	uid, _, _ := strings.Cut(before, "/")
	for _, e := range events {
		if e.ID == before {
			break
		}
		if e.Data.UID == uid && e.Type == eventapi.TableCommitted {
			version = e.Data.Version
		}
	}
	return version
}

// A job whose end was told to nobody, because the process died or the suggestion was lost, is found by the regular
// poll. One that is resumed ends again.
func TestJobEndIsAnnouncedOnce(t *testing.T) {
	now := time.Now()
	s := open(t, memstore.New(), func() time.Time { return now })
	s.announceAll(t)
	ended := func(object []string, status transactionapi.Status, failure string) string {
		t.Helper()
		began, err := s.Transactions.BeginWork(t.Context(), "maintain", object, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		if _, err := s.Transactions.Advance(t.Context(), transaction.Unit{Job: began.ID}, func(job *transaction.Transaction) {
			job.Status, job.Failure = status, failure
		}); err != nil {
			t.Fatal(err)
		}
		return began.ID
	}
	told := func() (list []string) {
		for _, e := range read(t, s) {
			list = append(list, fmt.Sprintf("%s %s %v %s", e.Data.JobType, strings.Join(e.Data.ID, "/"), e.Data.State, e.Data.Message))
		}
		return list
	}
	ended([]string{"a"}, transactionapi.Succeeded, "")
	s.work(t)
	ended([]string{"b"}, transactionapi.Canceled, "")
	s.queue.waiting = nil // the suggestion is lost
	ended(nil, transactionapi.Succeeded, "")
	failed := ended([]string{"c"}, transactionapi.Failed, "the disk is full")
	s.work(t)
	for range 2 {
		s.announceAll(t)
	}
	want := []string{"maintain a DONE ", "maintain c FAILED the disk is full", "maintain b CANCELLED "}
	if got := told(); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	set := func(status transactionapi.Status) {
		t.Helper()
		ref := transaction.Ref{Unit: transaction.Unit{Job: failed}}
		now = now.Add(time.Minute)
		if _, err := s.Transactions.Alter(t.Context(), ref, []transactionapi.Action{{SetStatus: &transactionapi.SetStatusAction{Status: status}}}); err != nil {
			t.Fatal(err)
		}
		s.work(t)
	}
	set(transactionapi.Running)
	set(transactionapi.Succeeded)
	if got := told(); !slices.Equal(got, append(want, "maintain c DONE ")) {
		t.Errorf("after another end: got %q", got)
	}
}
