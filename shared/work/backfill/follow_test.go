package backfill_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
)

var (
	policy = tables.AutoRefresh{After: 10 * time.Minute, Rows: 5, Cooldown: 5 * time.Minute}
	always = computed.Schedule{Given: true, Enabled: true}
)

// follow runs a test with a table whose column double has a schedule. Its record allows that unless allowed
// says otherwise.
func follow(t *testing.T, policy tables.AutoRefresh, schedule computed.Schedule, allowed bool, test func(t *testing.T, p *process)) {
	synctest.Test(t, func(t *testing.T) {
		p := openWith(t, policy, schedule)
		if allowed {
			p.allow(t, nil)
		}
		test(t, p)
	})
}

func (p *process) allow(t *testing.T, use *schemaapi.FunctionBinding) {
	t.Helper()
	found, err := p.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	what, err := backfill.Allowance(use)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Names.AllowFill(t.Context(), found, what); err != nil {
		t.Fatal(err)
	}
}

// insert adds rows as a request does.
func (p *process) insert(t *testing.T, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if _, err := p.Open([]string{"t"}, "").Commit(t.Context(), func(table tables.Table) (engine.Written, error) {
			return table.Insert(t.Context(), rows(t, n))
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// work runs jobs for a time.
func (p *process) work(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	p.worker.Serve(ctx, 1)
}

// want checks how many rows have no value, and how many jobs there were.
func (p *process) want(t *testing.T, when string, missing, jobs int) {
	t.Helper()
	found, err := p.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.At(found).Count(t.Context(), engine.AsOf{}, "double IS NULL")
	if err != nil {
		t.Fatal(err)
	}
	if int(got.Rows) != missing {
		t.Errorf("%s: %d rows have no value, want %d", when, got.Rows, missing)
	}
	all, _, err := p.Transactions.Jobs(t.Context(), "", 1000)
	if err != nil || len(all) != jobs {
		t.Errorf("%s: there were %d jobs, want %d (%v)", when, len(all), jobs, err)
	}
}

func TestColumnIsFilledWithoutARequest(t *testing.T) {
	follow(t, policy, always, true, func(t *testing.T, p *process) {
		p.insert(t, 3) // with those that are there these are 8 rows, more than the policy needs
		p.work(t, 10*time.Second)
		p.want(t, "soon", 0, 1)
		p.insert(t, 4)
		p.work(t, 9*time.Minute)
		p.want(t, "after 9 minutes", 2, 1)
		p.insert(t, 5)
		p.work(t, 2*time.Minute)
		p.want(t, "after 11 minutes", 0, 2)
		p.insert(t, 6, 7, 8)
		p.work(t, 2*time.Minute)
		p.want(t, "within the cooldown", 6, 2)
		p.work(t, 4*time.Minute)
		p.want(t, "after the cooldown", 0, 3)
		p.work(t, 24*time.Hour)
		p.want(t, "a day later", 0, 3)
	})
}

func TestIntervalIsKept(t *testing.T) {
	follow(t, policy, computed.Schedule{Given: true, Enabled: true, Interval: 60}, true, func(t *testing.T, p *process) {
		p.insert(t, 3)
		p.work(t, 10*time.Second)
		p.want(t, "soon", 0, 1)
		p.insert(t, 4)
		p.work(t, 40*time.Second)
		p.want(t, "within the interval", 2, 1)
		p.work(t, 20*time.Second)
		p.want(t, "after the interval", 0, 2)
	})
}

func TestColumnsThatAreNotFilledWithoutARequest(t *testing.T) {
	for name, c := range map[string]struct {
		policy   tables.AutoRefresh
		schedule computed.Schedule
		allowed  bool
	}{
		"no schedule":               {policy, computed.Schedule{}, true},
		"disabled":                  {policy, computed.Schedule{Given: true, Interval: 60}, true},
		"off":                       {tables.AutoRefresh{}, always, true},
		"only the metadata says so": {policy, always, false},
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, c.policy, c.schedule, c.allowed, func(t *testing.T, p *process) {
				p.insert(t, 3, 4, 5)
				if err := p.Jobs.Suggest(t.Context(), backfill.Kind, []string{"t"}, 0); err != nil {
					t.Fatal(err)
				}
				p.work(t, time.Hour)
				p.want(t, "after an hour", 12, 0)
			})
		})
	}
}

// The record of a table allows a use of a function, not the column: another function in the metadata is not
// called.
func TestFunctionThatWasAllowedIsCalledAlone(t *testing.T) {
	follow(t, policy, computed.Schedule{}, false, func(t *testing.T, p *process) {
		use := computed.Use{Schedule: always, Signature: functionapi.Signature{
			Inputs: []functionapi.Field{{Name: "n", ArrowType: "int64", Nullable: true}},
			Output: functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: "int64"},
		}, Binding: schemaapi.FunctionBinding{
			ID: "fb_1", Function: schemaapi.FunctionReference{Name: "f", Version: "1", ManifestDigest: "hostile"},
			Inputs:       []schemaapi.InputBinding{{Parameter: "n", FieldPath: "id", ArrowType: "int64"}},
			Outputs:      []schemaapi.OutputMapping{{ResultField: schemaapi.WholeResult, OutputName: "more"}},
			InputSchema:  []byte(`{"fields":[{"name":"n","nullable":false,"type":{"type":"int64"}}]}`),
			OutputSchema: []byte(`{"fields":[{"name":"more","nullable":true,"type":{"type":"int64"}}]}`),
		}}
		if _, err := p.Open([]string{"t"}, "").Commit(t.Context(), func(table tables.Table) (engine.Written, error) {
			return evolution.AddFunctionColumns(t.Context(), table.Table, use)
		}); err != nil {
			t.Fatal(err)
		}
		allowed := use.Binding
		allowed.Function.ManifestDigest = "honest"
		p.allow(t, &allowed)
		p.insert(t, 3)
		p.work(t, time.Hour)
		p.want(t, "another function", 8, 0)
		p.allow(t, &use.Binding)
		p.insert(t, 4)
		p.work(t, time.Minute)
		p.want(t, "the function", 10, 1)
	})
}

// What a native writer has added is found by the regular poll of all tables.
func TestPollFindsRowsOfNativeWriters(t *testing.T) {
	follow(t, policy, always, true, func(t *testing.T, p *process) {
		found, err := p.Names.Table(t.Context(), []string{"t"})
		if err != nil {
			t.Fatal(err)
		}
		p.FollowFills(t.Context(), found)
		p.work(t, time.Minute)
		p.want(t, "after the poll", 0, 1)
	})
}
