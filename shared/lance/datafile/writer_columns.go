package datafile

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/encoding"
)

// The rows in a batch, and the buffered bytes, from which each column gets a goroutine of its own.
const (
	sideBySideRows  = 4096
	sideBySideBytes = 256 << 10
)

// eachColumn encodes rows of each column and writes the pages that this emits. Even if columns are
// encoded concurrently, their pages are written in the order of the columns, so that the same rows
// make the same file: a column with a finished page waits until all columns before it have written
// theirs.
func (w *Writer) eachColumn(sideBySide bool, encode func(c *columnWriter, emit func(encoding.Page) error) error) error {
	if w.alone || !sideBySide || runtime.GOMAXPROCS(0) == 1 {
		for _, c := range w.columns {
			if err := encode(c, func(p encoding.Page) error { return w.putPage(c, p) }); err != nil {
				return err
			}
		}
		return nil
	}
	order := newColumnOrder(len(w.columns))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0)) // as many pages are in memory beside the rows
	for i, c := range w.columns {
		group.Go(func() error {
			err := encode(c, func(p encoding.Page) error {
				if err := order.wait(i); err != nil {
					return err
				}
				return w.putPage(c, p)
			})
			order.end(i, err)
			if errors.Is(err, errOtherColumn) {
				return nil // the other column returns its error
			}
			return err
		})
	}
	return group.Wait()
}

// errOtherColumn is the result of a column that stopped because another one failed.
var errOtherColumn = errors.New("another column failed")

// A columnOrder lets columns write one after another. Goroutines start in column order, so the one
// whose turn it is never waits for one that has not started.
type columnOrder struct {
	mu      sync.Mutex
	changed sync.Cond
	turn    int    // the first column that has not ended
	ended   []bool // by column
	failed  bool
}

func newColumnOrder(columns int) *columnOrder {
	o := &columnOrder{ended: make([]bool, columns)}
	o.changed.L = &o.mu
	return o
}

// wait returns when it is the column's turn to write.
func (o *columnOrder) wait(column int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.turn != column && !o.failed {
		o.changed.Wait()
	}
	if o.failed {
		return errOtherColumn
	}
	return nil
}

// end records that a column is done and passes the turn to the next unfinished one.
func (o *columnOrder) end(column int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended[column] = true
	o.failed = o.failed || err != nil
	for o.turn < len(o.ended) && o.ended[o.turn] {
		o.turn++
	}
	o.changed.Broadcast()
}
