// Package meter accounts for the memory and the work of one evaluation of an expression. A
// [Meter] takes bytes from the memory share of the context before an operation allocates
// them, and checks the context after a bounded amount of work.
package meter

import (
	"context"
	"errors"
	"unicode/utf8"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
)

// A Meter accounts for one evaluation. An operation reserves the bytes of its results before it allocates
// them, and the meter reserves them in the memory share of its context. An operation also reports its work,
// and the meter periodically checks the context. A Meter lives within one call, so its functions may be
// bound to the context of the call. A nil Meter has no limits.
//
// The bytes in use form a stack: an operation adds bytes for intermediate values and its result, and at its
// end only the bytes of the result remain. Columns are in use for a slice of rows, and constants for the
// whole evaluation.
type Meter struct {
	ended func() error            // the error of the context once it has ended
	take  func(bytes int64) error // reserves bytes in the share
	share *memory.Share

	made    int64 // bytes of the results and intermediate values of a slice
	columns int64 // bytes of the columns that were converted for the slice
	kept    int64 // bytes that stay in use to the end
	taken   int64 // bytes reserved in the share, at least those in use

	peak int64 // most bytes that were in use for the slice at once
	most int64 // maximal bytes in use for a slice; 0: limited by the share only
	work int   // units of work until the next check of the context
	left int   // work until a constant is given up; 0: no bound
	plan int   // work that is left for all constants of an expression

	programs int // instructions of the regular expressions that Bind compiled
}

const (
	// SliceBytes is the maximal memory of a slice of more than one row.
	SliceBytes = 16 << 20
	// TakeBytes is the least number of bytes that a meter reserves in its share at once.
	TakeBytes = 64 << 10
	// LookWork is the work between two checks of the context, in steps of about a
	// nanosecond.
	LookWork = 1 << 18
)

// ErrNarrow means that a slice has more in use than it may; a slice of fewer rows may
// succeed.
var ErrNarrow = errors.New("too many rows at once")

// errEffort means that a constant is too much work for Bind.
var errEffort = errors.New("too much work for planning")

// New returns a meter for an evaluation within the share of the context.
func New(ctx context.Context) *Meter { return within(ctx, memory.FromContext(ctx)) }

// Unshared returns a meter that checks the context but does not account for memory.
func Unshared(ctx context.Context) *Meter { return within(ctx, nil) }

func within(ctx context.Context, share *memory.Share) *Meter {
	take := func(bytes int64) error { return share.Take(ctx, bytes) }
	return &Meter{ended: ctx.Err, take: take, share: share, work: LookWork}
}

// Take reserves bytes before they are allocated. Its errors are ErrNarrow, *memory.Error and the errors of
// the context.
func (m *Meter) Take(bytes int) error {
	if m == nil || bytes <= 0 {
		return nil
	}
	m.made += int64(bytes)
	used := m.made + m.columns
	m.peak = max(m.peak, used)
	if m.most > 0 && used > m.most {
		return ErrNarrow
	}
	if used+m.kept <= m.taken {
		return nil
	}
	return m.grow()
}

// grow reserves the bytes in use in the share, and some more if they are free.
func (m *Meter) grow() error {
	more := m.made + m.columns + m.kept - m.taken
	if ahead := max(more, TakeBytes); ahead > more && m.share.Try(ahead) {
		m.taken += ahead
		return nil
	}
	if err := m.take(more); err != nil {
		if m.most > 0 && memory.TooMuch(err) {
			return ErrNarrow
		}
		return err
	}
	m.taken += more
	return nil
}

// Give releases bytes.
func (m *Meter) Give(bytes int) {
	if m != nil {
		m.made = max(m.made-int64(bytes), 0)
	}
}

// TooMuch returns the error for values that exceed a limit. It is ErrNarrow, with which the caller tries a
// smaller slice, unless the slice has one row.
func (m *Meter) TooMuch(format string, args ...any) error {
	if m != nil && m.most > 0 {
		return ErrNarrow
	}
	return sql.Errorf(sql.ErrTooLarge, sql.NoPos, format, args...)
}

// Mark returns the number of bytes in use.
func (m *Meter) Mark() int64 {
	if m == nil {
		return 0
	}
	return m.made
}

// Settle releases all bytes reserved since the mark, except for a result of the given size.
func (m *Meter) Settle(mark int64, result int) {
	if m != nil && m.made > mark {
		m.made = min(m.made, mark+int64(result))
	}
}

// HoldColumn keeps the bytes since the mark for the whole slice, because they belong to a loaded column.
func (m *Meter) HoldColumn(mark int64) {
	m.columns += m.made - mark
	m.made = mark
}

// Retain keeps bytes in use until [Meter.End].
func (m *Meter) Retain(bytes int) { m.kept += int64(bytes) }

// Apart accounts for work of f that does not belong to the slice, such as a constant for
// all slices. The bytes that f returns stay in use until [Meter.End].
func (m *Meter) Apart(f func() (bytes int, err error)) error {
	made, most, peak := m.made, m.most, m.peak
	m.made, m.most = 0, 0
	bytes, err := f()
	if err == nil {
		m.kept += min(m.made, int64(bytes))
	}
	m.made, m.most, m.peak = made, most, peak
	return err
}

// Begin starts a slice. With several rows, it may use at most most bytes.
func (m *Meter) Begin(rows int, most int64) {
	m.made, m.columns, m.peak, m.most = 0, 0, 0, 0
	if rows > 1 {
		m.most = most
	}
	if spare := m.taken - m.kept; spare > 2*SliceBytes { // of a row that made much
		m.share.Give(spare - SliceBytes)
		m.taken -= spare - SliceBytes
	}
}

// End returns all bytes to the share.
func (m *Meter) End() {
	m.share.Give(m.taken)
	m.taken, m.made, m.columns, m.kept = 0, 0, 0, 0
}

// Peak returns the maximal number of bytes that the slice has used at once.
func (m *Meter) Peak() int64 { return m.peak }

// Err returns the error of the context if it has ended.
func (m *Meter) Err() error { return m.ended() }

// Step counts work that is about to be done, and checks the context from time to time.
func (m *Meter) Step(work int) error {
	if m == nil {
		return nil
	}
	if m.work -= work; m.work > 0 {
		return nil
	}
	return m.look()
}

// LookBytes is the number of bytes of one value that are processed between two checks of the context.
const LookBytes = 1 << 18

// Pieces divides a text between characters and calls f for each part. It checks the context after
// each part but the last.
func (m *Meter) Pieces(s []byte, f func(from, to int)) error {
	from := 0
	for len(s)-from > LookBytes {
		to := from + LookBytes
		for to > from+LookBytes-utf8.UTFMax && !utf8.RuneStart(s[to]) {
			to--
		}
		f(from, to)
		if err := m.Step(to - from); err != nil {
			return err
		}
		from = to
	}
	f(from, len(s))
	return nil
}

// look checks the context.
func (m *Meter) look() error {
	if m.left > 0 {
		if m.left -= LookWork - m.work; m.left <= 0 {
			m.left = 1 // and no more
			m.work = 0
			return errEffort
		}
	}
	m.work = LookWork
	return m.ended()
}
