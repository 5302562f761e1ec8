package refresh_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/viewapi"
	viewservice "tiltyard/shared/service/view"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/refresh"
)

var policy = tables.AutoRefresh{After: 10 * time.Minute, Rows: 3, Cooldown: 5 * time.Minute}

// follow runs a test with a view v that follows s, also when parts refresh it. The view was filled at once, an
// hour ago.
func follow(t *testing.T, policy tables.AutoRefresh, auto bool, test func(t *testing.T, p *process)) {
	for _, sizes := range []materialize.Sizes{refresh.PartSizes, few} {
		synctest.Test(t, func(t *testing.T) {
			p := openSized(t, memstore.New(), policy, sizes)
			p.source(t, true)
			must[*viewapi.CreateMaterializedResponse](t)(viewservice.New(p.Tables).CreateMaterialized(as(t.Context()), &viewapi.CreateMaterializedRequest{
				Common: protocol.Common{ID: []string{"v"}}, Query: query, AutoRefresh: auto,
			}))
			p.work(t, time.Hour)
			test(t, p)
		})
	}
}

// work runs jobs for a time.
func (p *process) work(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	p.worker.Serve(ctx, 1)
}

// insert adds rows to the source as a request does.
func (p *process) insert(t *testing.T, ids ...int64) {
	t.Helper()
	must[tables.Changed](t)(p.Open([]string{"s"}, "").Commit(t.Context(), func(s tables.Table) (engine.Written, error) {
		return s.Insert(t.Context(), rows(ids...))
	}))
}

func (p *process) want(t *testing.T, when string, ids ...int64) {
	t.Helper()
	if diff := cmp.Diff(append([]int64{4, 5, 6, 7, 8, 9}, ids...), p.ids(t, "v")); diff != "" {
		t.Errorf("%s: rows of the view (-want +got):\n%s", when, diff)
	}
}

// jobs returns how many refreshes there were.
func (p *process) jobs(t *testing.T) int {
	t.Helper()
	all, _, err := p.Transactions.Jobs(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

func TestViewFollowsFewChangesWhenTheyAreOld(t *testing.T) {
	follow(t, policy, true, func(t *testing.T, p *process) {
		p.insert(t, 20)
		p.work(t, 9*time.Minute)
		p.want(t, "after 9 minutes")
		p.insert(t, 21)
		p.work(t, 2*time.Minute)
		p.want(t, "after 11 minutes", 20, 21)
		p.work(t, 24*time.Hour)
		if got := p.jobs(t); got != 2 {
			t.Errorf("there were %d jobs, want the first one and one for both changes", got)
		}
	})
}

// An interval of the view replaces the times of the deployment.
func TestViewFollowsAtItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openSized(t, memstore.New(), policy, refresh.PartSizes)
		p.source(t, true)
		must[*viewapi.CreateMaterializedResponse](t)(viewservice.New(p.Tables).CreateMaterialized(as(t.Context()), &viewapi.CreateMaterializedRequest{
			Common: protocol.Common{ID: []string{"v"}}, Query: query, AutoRefresh: true, AutoInterval: new(90.0),
		}))
		p.work(t, time.Hour)
		p.insert(t, 20)
		p.work(t, 10*time.Second)
		p.want(t, "long after the last refresh", 20)
		p.insert(t, 21)
		p.work(t, time.Minute)
		p.want(t, "within the interval", 20)
		p.work(t, time.Minute)
		p.want(t, "after the interval", 20, 21)
	})
}

func TestViewFollowsManyChangesSoon(t *testing.T) {
	follow(t, policy, true, func(t *testing.T, p *process) {
		p.insert(t, 20, 21, 22)
		p.work(t, 10*time.Second)
		p.want(t, "after 10 seconds", 20, 21, 22)
		p.insert(t, 30, 31, 32)
		p.work(t, 4*time.Minute)
		p.want(t, "within the cooldown", 20, 21, 22)
		p.work(t, 2*time.Minute)
		p.want(t, "after the cooldown", 20, 21, 22, 30, 31, 32)
	})
}

// Hundreds of changes make no more jobs than the policy allows, and not a message for each that stays.
func TestFollowingABusySource(t *testing.T) {
	follow(t, policy, true, func(t *testing.T, p *process) {
		var ids []int64
		for id := int64(100); id < 400; id++ {
			p.insert(t, id)
			ids = append(ids, id)
			p.work(t, 5*time.Second)
		}
		p.work(t, 11*time.Minute)
		p.want(t, "at the end", ids...)
		if got := p.jobs(t); got < 5 || got > 8 {
			t.Errorf("there were %d jobs in 25 minutes, want the first one and one each 5 minutes", got)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if d, err := p.worker.Queue.Receive(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a message is left: %+v, %v", d, err)
		}
	})
}

func TestViewsThatDoNotFollow(t *testing.T) {
	for name, c := range map[string]struct {
		policy tables.AutoRefresh
		auto   bool
	}{"not asked for": {policy, false}, "switched off": {tables.AutoRefresh{}, true}} {
		t.Run(name, func(t *testing.T) {
			follow(t, c.policy, c.auto, func(t *testing.T, p *process) {
				p.insert(t, 20, 21, 22)
				if err := refresh.SuggestAll(t.Context(), p.Tables); err != nil {
					t.Fatal(err)
				}
				p.work(t, 24*time.Hour)
				p.want(t, "after a day")
			})
		})
	}
}

// A writer that goes past the service suggests no poll. The regular one finds its changes.
func TestChangesThatNoRequestMadeAreFound(t *testing.T) {
	follow(t, policy, true, func(t *testing.T, p *process) {
		must[engine.Written](t)(p.at(t, "s").Insert(t.Context(), rows(20, 21, 22)))
		p.work(t, time.Hour)
		p.want(t, "before the poll")
		if err := refresh.SuggestAll(t.Context(), p.Tables); err != nil {
			t.Fatal(err)
		}
		p.work(t, time.Minute)
		p.want(t, "after the poll", 20, 21, 22)
	})
}

// A definition that a writer of the view has put into its metadata is not run for him.
func TestViewDoesNotFollowADefinitionOfOthers(t *testing.T) {
	follow(t, policy, true, func(t *testing.T, p *process) {
		hostile := `{"format":1,"kind":"query","query":"SELECT id FROM s WHERE id > 0"}`
		must[engine.Written](t)(p.at(t, "v").Alter(t.Context(), func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
			return d.Commit(ctx, &pb.UpdateConfig{SchemaMetadata: &pb.UpdateMap{Entries: []pb.UpdateMapEntry{{Key: "mv.definition", Value: &hostile}}}})
		}))
		p.insert(t, 20, 21, 22)
		p.work(t, time.Hour)
		p.want(t, "with another definition")
		if got := p.jobs(t); got != 1 {
			t.Errorf("there were %d jobs, want only the first", got)
		}
	})
}

// A view without data that follows its source is filled by and by.
func TestViewThatIsEmptyIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openWith(t, memstore.New(), policy)
		p.source(t, true)
		empty := true
		must[*viewapi.CreateMaterializedResponse](t)(viewservice.New(p.Tables).CreateMaterialized(as(t.Context()), &viewapi.CreateMaterializedRequest{
			Common: protocol.Common{ID: []string{"v"}}, Query: query, AutoRefresh: true, WithNoData: &empty,
		}))
		p.work(t, time.Minute)
		p.want(t, "after a minute")
	})
}

// A refresh that another job's worker holds waits for it, and is a no_op then. The view is free some
// time after the process of a worker has died.
func TestViewIsRefreshedByOneJobAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, memstore.New())
		p.source(t, true)
		must[string](t)(p.create(t.Context(), query))
		p.work(t, time.Minute)
		p.alter(t)
		dead := p.refresh(t, viewapi.RefreshRequest{})
		_, _, err := p.Transactions.Take(t.Context(), transaction.Unit{Job: dead}, "a worker that dies", 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		v := must[*stored.Table](t)(p.Names.Views.Get(t.Context(), []string{"v"}, stored.Materialized)).View
		key := "refresh/" + v.UID
		before := must[record.Record](t)(p.Records.Get(t.Context(), key))
		must[string](t)(p.Records.Put(t.Context(), record.Record{Key: key, Value: []byte(`{"job":"` + dead + `"}`), Version: before.Version}))

		waiting := p.refresh(t, viewapi.RefreshRequest{})
		p.work(t, time.Minute)
		if got := must[*transaction.Transaction](t)(p.Transactions.Job(t.Context(), transaction.Unit{Job: waiting})); got.Status.Ended() {
			t.Errorf("while another job holds the view, the job is %v: %s", got.Status, got.Result)
		}
		p.want(t, "while the view is held")
		p.work(t, 20*time.Minute)
		if got := p.ids(t, "v"); !slices.Equal(got, altered) {
			t.Errorf("rows are %v, want %v", got, altered)
		}
		results := p.done(t, waiting) + p.done(t, dead)
		if strings.Count(results, `"incremental"`) != 1 || strings.Count(results, `"no_op"`) != 1 {
			t.Errorf("the results are %s, want one of a refresh and one of nothing to do", results)
		}
		if got := must[string](t)(refresh.LastJob(t.Context(), p.Tables, v.UID)); got != dead && got != waiting {
			t.Errorf("the last job is %q, want %q or %q", got, dead, waiting)
		}
	})
}
