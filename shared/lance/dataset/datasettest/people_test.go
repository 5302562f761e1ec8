package datasettest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/snapshot"
)

// A version scans batches as they are.
type version iter.Seq2[arrow.RecordBatch, error]

func (v version) Scan(context.Context, snapshot.ScanOptions) (*arrow.Schema, iter.Seq2[arrow.RecordBatch, error], error) {
	return datasettest.People, iter.Seq2[arrow.RecordBatch, error](v), nil
}

// A failure is the message of a check of wrong rows.
type failure string

// A recorder panics with the failure, as a check must not go on after it.
type recorder struct{}

func (recorder) Helper()                           {}
func (recorder) Fatal(args ...any)                 { panic(failure(fmt.Sprint(args...))) }
func (recorder) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

func TestRowsHaveTheirIDs(t *testing.T) {
	want := datasettest.UpTo(250)
	got := datasettest.IDsOf(t, version(datasettest.BatchesOf(want...)), snapshot.ScanOptions{})
	if !slices.Equal(got, want) {
		t.Errorf("got ids %v, want %v", got, want)
	}
}

func TestRowsOfOtherIDsFailTheCheck(t *testing.T) {
	for what, ids := range map[string][2]int64{"another name": {1, 2}, "a name in place of NULL": {7, 8}, "NULL in place of a name": {8, 7}} {
		columns := slices.Clone(batch(ids[0]).Columns())
		columns[1] = batch(ids[1]).Column(1)
		failed := func() (failed bool) {
			defer func() { _, failed = recover().(failure) }()
			datasettest.CheckRows(recorder{}, array.NewRecordBatch(datasettest.People, columns, 1))
			return false
		}()
		if !failed {
			t.Errorf("%s: the check passes", what)
		}
	}
}

func TestMultiplesAreKept(t *testing.T) {
	where := datasettest.Multiples(3)
	rows, err := where.Select(t.Context(), batch(3, 4, 5, 6), nil)
	if want := []int32{0, 3}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("got rows %v, %v; want %v", rows, err, want)
	}
	rows, err = where.Select(t.Context(), batch(3, 4, 5, 6), []uint64{1 << 3})
	if want := []int32{3}; err != nil || !slices.Equal(rows, want) {
		t.Errorf("among the last row: got rows %v, %v; want %v", rows, err, want)
	}
}

// batch returns rows with the given ids.
func batch(ids ...int64) arrow.RecordBatch {
	for b, err := range datasettest.BatchesOf(ids...) {
		if err != nil {
			panic(err)
		}
		return b
	}
	return nil
}
