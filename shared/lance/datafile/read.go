package datafile

import (
	"context"
	"fmt"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/internal/encoding/values"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// ReadRange returns rows [from, to) of top-level fields, one array per field with its children. A
// field, or part of one, without a column in the file is null. A blob field is returned as
// descriptions (see [schema.Field.Described]); ReadBlobs reads the bytes.
//
// A read takes one round of concurrent requests if the pages are small, read whole, or known from
// an earlier read. Otherwise another round comes first, to locate the rows in the pages. The arrays
// may share memory with the bytes read and must not be changed.
//
// The read charges the fetched bytes and everything decoded from them to the context's memory
// budget until it returns. A caller that keeps the arrays must reserve memory for them.
func (f *File) ReadRange(ctx context.Context, fields []*schema.Field, from, to int64) ([]arrow.Array, error) {
	if from < 0 || to < from || to > f.rows {
		return nil, fmt.Errorf("read rows [%d, %d) of data file %s, which has %d", from, to, f.key, f.rows)
	}
	return f.read(ctx, fields, []encoding.RowRange{{From: int(from), To: int(to)}}, to-from < f.rows)
}

// Take returns single rows as ReadRange does; the row numbers must ascend without repetition. It
// reads only the parts of pages that hold these rows.
func (f *File) Take(ctx context.Context, fields []*schema.Field, rows []int64) ([]arrow.Array, error) {
	var ranges []encoding.RowRange
	last := int64(-1)
	for _, row := range rows {
		if row <= last || row >= f.rows {
			return nil, fmt.Errorf("take row %d after %d of data file %s, which has %d", row, last, f.key, f.rows)
		}
		last = row
		if n := len(ranges); n > 0 && ranges[n-1].To == int(row) {
			ranges[n-1].To++
			continue
		}
		ranges = append(ranges, encoding.RowRange{From: int(row), To: int(row) + 1})
	}
	return f.read(ctx, fields, ranges, false)
}

// ReadRanges reads several ranges like ReadRange. The ranges must ascend without overlap; the
// arrays hold their rows one after another.
func (f *File) ReadRanges(ctx context.Context, fields []*schema.Field, ranges []encoding.RowRange) ([]arrow.Array, error) {
	last := 0
	for _, r := range ranges {
		if r.From < last || r.To < r.From || int64(r.To) > f.rows {
			return nil, fmt.Errorf("read rows [%d, %d) after %d of data file %s, which has %d", r.From, r.To, last, f.key, f.rows)
		}
		last = r.To
	}
	return f.read(ctx, fields, ranges, false)
}

// A columnTask is the part of a read that concerns one column, or a column and the columns that
// depend on it.
type columnTask interface {
	// run decodes as much as the bytes in src allow and reports whether the task is done. If not,
	// it returns the intervals that it needs next.
	run(src *source) (done bool, wanted []interval, err error)
}

// read reads rows of fields. The rows before and after them are read, too, if the read is onward.
func (f *File) read(ctx context.Context, fields []*schema.Field, rows []encoding.RowRange, onward bool) ([]arrow.Array, error) {
	count := 0
	for _, r := range rows {
		count += r.To - r.From
	}
	ctx, part, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer part.Close()
	r := &fileRead{file: f, rows: rows, count: count, room: roomOf(ctx), onward: onward}
	arrays, err := r.read(ctx, fields)
	if err != nil {
		return nil, fmt.Errorf("read data file %s: %w", f.key, err)
	}
	return arrays, nil
}

// A fileRead is one read of some rows.
type fileRead struct {
	file  *File
	rows  []encoding.RowRange
	count int
	room  values.Room
	tasks []columnTask

	onward bool // see source
}

// read plans one fieldRead per field, runs their tasks, and returns the arrays.
func (r *fileRead) read(ctx context.Context, fields []*schema.Field) ([]arrow.Array, error) {
	results := make([]fieldRead, len(fields))
	for i, field := range fields {
		field = field.Described()
		err := r.takeFixed(field)
		if err != nil {
			return nil, err
		}
		if r.file.version == lance.V2_0 {
			results[i], err = r.planV20(field)
		} else {
			results[i], err = r.plan(field, nil)
		}
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	// All fields share the request rounds.
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	arrays := make([]arrow.Array, len(fields))
	for i, field := range fields {
		var err error
		if arrays[i], err = results[i].array(r.count); err != nil {
			return nil, fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	return arrays, nil
}

// A fieldRead is the part of a read that concerns one field.
type fieldRead interface {
	// array returns the array of the field, which must have n items. All tasks are done.
	array(n int) (arrow.Array, error)
}

// maxRounds is more rounds of requests than any nesting of types can need.
const maxRounds = 80

// run runs all tasks in rounds. After each round it reads the bytes that the tasks need next.
func (r *fileRead) run(ctx context.Context) error {
	src := newSource(r.file.stored, r.onward)
	pending := r.tasks
	for range maxRounds {
		wanted, err := r.step(src, &pending)
		if err != nil || len(pending) == 0 {
			return err
		}
		if err := src.read(ctx, wanted); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: still not read after %d rounds", lance.ErrCorrupt, maxRounds)
}

// manyRows is the number of rows from which columns are decoded concurrently.
const manyRows = 4096

// step runs the pending tasks once, keeps the unfinished ones in pending, and returns the intervals
// that they need.
func (r *fileRead) step(src *source, pending *[]columnTask) ([]interval, error) {
	type outcome struct {
		done   bool
		wanted []interval
	}
	tasks := *pending
	outcomes := make([]outcome, len(tasks))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, task := range tasks {
		one := func() (err error) {
			outcomes[i].done, outcomes[i].wanted, err = task.run(src)
			return err
		}
		// Goroutines pay off only for many rows.
		if len(tasks) > 1 && r.count >= manyRows {
			group.Go(one)
		} else if err := one(); err != nil {
			return nil, err
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var wanted []interval
	*pending = nil
	for i, o := range outcomes {
		if !o.done {
			*pending = append(*pending, tasks[i])
			wanted = append(wanted, o.wanted...)
		}
	}
	return wanted, nil
}
