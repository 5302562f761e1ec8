package dataset_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance/dataset"
)

// replayOf returns a Replay of batches with one row each, numbered from 0. Each row has a text of
// the given length. failure, which may be nil, ends the source.
func replayOf(t *testing.T, batches, length int, failure error) *dataset.Replay {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.Binary}}, nil)
	source := func(yield func(arrow.RecordBatch, error) bool) {
		for n := range batches {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			b.Field(0).(*array.Int64Builder).Append(int64(n))
			b.Field(1).(*array.BinaryBuilder).Append(make([]byte, length))
			if !yield(b.NewRecordBatch(), nil) {
				return
			}
		}
		if failure != nil {
			yield(nil, failure)
		}
	}
	next, stop := iter.Pull2(iter.Seq2[arrow.RecordBatch, error](source))
	t.Cleanup(stop)
	return dataset.NewReplay(next)
}

// numbersOf returns the numbers of at most limit rows, and the error that ends them.
func numbersOf(rows iter.Seq2[arrow.RecordBatch, error], limit int) (numbers []int64, err error) {
	for batch, err := range rows {
		if err != nil {
			return numbers, err
		}
		numbers = append(numbers, batch.Column(0).(*array.Int64).Value(0))
		if len(numbers) == limit {
			break
		}
	}
	return numbers, nil
}

func TestReplayYieldsAllRowsToEachTry(t *testing.T) {
	open, wait := func() bool { return false }, func() error { t.Error("settle was called"); return nil }
	r := replayOf(t, 5, 10, nil)
	for try, limit := range []int{2, 4, 1, 9, 9} {
		want := []int64{0, 1, 2, 3, 4}[:min(limit, 5)]
		if got, err := numbersOf(r.Rows(open, wait), limit); err != nil || !slices.Equal(got, want) {
			t.Errorf("try %d: got rows %d, %v; want %d", try, got, err, want)
		}
	}
}

func TestReplayKeepsNoRowsOnceSettled(t *testing.T) {
	settled := false
	r := replayOf(t, 4, 10, nil)
	rows := r.Rows(func() bool { return settled }, func() error { return nil })
	if got, err := numbersOf(rows, 2); err != nil || len(got) != 2 {
		t.Fatalf("got rows %d, %v; want two", got, err)
	}
	settled = true
	if got, err := numbersOf(rows, 9); err != nil || !slices.Equal(got, []int64{0, 1, 2, 3}) {
		t.Fatalf("got rows %d, %v; want all", got, err)
	}
	if got, err := numbersOf(rows, 9); err != nil || len(got) != 0 {
		t.Errorf("after a settled try: got rows %d, %v; want none", got, err)
	}
}

func TestReplaySettlesBeforeItKeepsTooMuch(t *testing.T) {
	moved := errors.New("moved")
	open, settle := func() bool { return false }, func() error { return moved }
	got, err := numbersOf(replayOf(t, 9, 1<<20, nil).Rows(open, settle), 9)
	if want := []int64{0, 1, 2}; !errors.Is(err, moved) || !slices.Equal(got, want) {
		t.Errorf("rows of 1 MiB: got %d, %v; want %d and the error of settle for the one that passes 4 MiB", got, err, want)
	}
}

func TestReplayKeepsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("broken")
	open, wait := func() bool { return false }, func() error { return nil }
	r := replayOf(t, 2, 10, broken)
	for try := range 2 {
		if got, err := numbersOf(r.Rows(open, wait), 9); !errors.Is(err, broken) || !slices.Equal(got, []int64{0, 1}) {
			t.Errorf("try %d: got rows %d, %v; want two and the error", try, got, err)
		}
	}
}
