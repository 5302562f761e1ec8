package explain_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/internal/explain"
)

// Each reading of this clock is a second later than the one before.
func ticking() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func TestStepsAreIndentedBelowTheStepsThatTakeTheirRows(t *testing.T) {
	now := ticking()
	scan := explain.New(now, explain.Scan).With("columns=%s", explain.List([]string{"a", "b"})).WithMore("rows=%d", 7)
	top := explain.New(now, explain.Project, nil, explain.New(now, explain.Sort, scan).With("by=a").Like("TopK"))
	for _, c := range []struct {
		verbose bool
		want    string
	}{
		{false, "Project: native=ProjectionExec\n  Sort: by=a, native=SortExec+TopK\n    Scan: columns=[a, b], native=LanceRead+LanceScan\n"},
		{true, "Project: native=ProjectionExec\n  Sort: by=a, native=SortExec+TopK\n    Scan: columns=[a, b], rows=7, native=LanceRead+LanceScan\n"},
	} {
		if diff := cmp.Diff(c.want, top.Text(c.verbose)); diff != "" {
			t.Errorf("verbose %t (-want +got):\n%s", c.verbose, diff)
		}
	}
}

func TestStepsMeasureTheirRowsAndTimes(t *testing.T) {
	now := ticking()
	scan := explain.New(now, explain.Scan)
	sort := explain.New(now, explain.Sort, scan)
	_ = scan.Reading(t.Context())
	batch := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3)
	for _, err := range scan.Counted(func(yield func(arrow.RecordBatch, error) bool) {
		if yield(batch, nil) {
			yield(batch, nil)
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sort.Found(6)
	want := "  Sort: native=SortExec [not run]\n    Scan: native=LanceRead+LanceScan [rows=6, batches=2, bytes=0, requests=0, bytes_read=0, elapsed=3s]\n"
	if diff := cmp.Diff(want, sort.Measured(1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sort.Took(now())
	want = "  Sort: native=SortExec [rows=6, elapsed=1s]\n    Scan: native=LanceRead+LanceScan [rows=6, batches=2, bytes=0, requests=0, bytes_read=0, elapsed=3s]\n"
	if diff := cmp.Diff(want, sort.Measured(1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
