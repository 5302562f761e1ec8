package refresh_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// The cleanup of a source keeps the version that a view shows for 30 days, so that the next refresh is
// incremental.
func TestViewKeepsTheVersionThatItShows(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		after time.Duration
		want  string
		gone  int // versions
	}{
		"for some days":  {after: 20 * day, want: "incremental", gone: 2},
		"not for longer": {after: 40 * day, want: "rebuild", gone: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := open(t, memstore.New())
				keeper := &maintain.Keeper{Tables: p.Tables, Records: p.Records, Now: time.Now, Grace: time.Minute}
				p.worker.Kinds[tables.MaintainKind] = keeper.Kind()
				p.source(t, true)
				must[string](t)(p.create(t.Context(), query))
				p.work(t, time.Hour)
				for id := range int64(3) {
					p.insert(t, 20+id)
				}
				time.Sleep(c.after)
				order := maintain.Order{Cleanup: true, Retention: time.Hour, Keep: 1}
				dry, err := keeper.DryRun(t.Context(), []string{"s"}, order)
				if err != nil || dry.Cleaned.Versions != c.gone {
					t.Errorf("a dry run removes %d versions, %v; want %d", dry.Cleaned.Versions, err, c.gone)
				}
				if _, err := p.Jobs.Begin(t.Context(), tables.MaintainKind, []string{"s"}, order); err != nil {
					t.Fatal(err)
				}
				p.work(t, time.Hour)
				id := p.refresh(t, viewapi.RefreshRequest{})
				p.work(t, time.Hour)
				var result materialize.Result
				if err := json.Unmarshal([]byte(p.done(t, id)), &result); err != nil || result.Mode != c.want {
					t.Errorf("the refresh is %+v, %v; want %s", result, err, c.want)
				}
				p.want(t, "after the refresh", 20, 21, 22)
			})
		})
	}
}
