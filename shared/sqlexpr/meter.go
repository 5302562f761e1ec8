package sqlexpr

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/memory"
)

// A meter accounts for one evaluation: for the bytes of what it makes, which it takes from
// the share of its context before it makes them, and for its work, between pieces of which it
// looks at the context. It lives within one call, so that it may hold the context of the call.
// A nil meter has no bound.
//
// The bytes in use are a stack: an operation takes those of what it makes beside its
// arguments, and when it is done only those of its result stay in use. Columns are in use
// for a slice of rows, and constants for the whole evaluation.
type meter struct {
	ctx   context.Context
	share *memory.Share

	made    int64 // bytes of the results and intermediate values of a slice
	columns int64 // bytes of the columns that were converted for the slice
	kept    int64 // bytes that stay in use to the end
	taken   int64 // bytes of the share, never fewer than are in use

	peak int64 // most bytes that were in use for the slice at once
	most int64 // bytes that a slice may have in use; 0: what the share allows
	work int   // until the next look at the context
	left int   // work until a constant is given up; 0: no bound
	plan int   // work that is left for all constants of an expression

	programs int // instructions of the regular expressions that Bind compiled
}

const (
	// sliceBytes is how much a slice of several rows may have in use.
	sliceBytes = 16 << 20
	// takeBytes is the least that a meter takes from its share at once.
	takeBytes = 64 << 10
	// lookWork is the work between two looks at the context, in steps of about a nanosecond.
	lookWork = 1 << 18
)

// errNarrow says that a slice has more in use than it may: one of fewer rows may do.
var errNarrow = errors.New("too many rows at once")

// errEffort says that a constant is too much work for the planning.
var errEffort = errors.New("too much work for planning")

// newMeter is a meter for an evaluation within the share of the context.
func newMeter(ctx context.Context) *meter {
	return &meter{ctx: ctx, share: memory.FromContext(ctx), work: lookWork}
}

// unshared is a meter that looks at the context and takes nothing of its share.
func unshared(ctx context.Context) *meter { return &meter{ctx: ctx, work: lookWork} }

// take puts bytes into use that are about to be allocated. Its errors are errNarrow,
// *memory.Error and those of the context.
func (m *meter) take(bytes int) error {
	if m == nil || bytes <= 0 {
		return nil
	}
	m.made += int64(bytes)
	used := m.made + m.columns
	m.peak = max(m.peak, used)
	if m.most > 0 && used > m.most {
		return errNarrow
	}
	if used+m.kept <= m.taken {
		return nil
	}
	return m.grow()
}

// grow takes what is in use from the share, and more than that if it is free.
func (m *meter) grow() error {
	more := m.made + m.columns + m.kept - m.taken
	if ahead := max(more, takeBytes); ahead > more && m.share.Try(ahead) {
		m.taken += ahead
		return nil
	}
	if err := m.share.Take(m.ctx, more); err != nil {
		var refused *memory.Error
		if m.most > 0 && errors.As(err, &refused) && !refused.Busy {
			return errNarrow
		}
		return err
	}
	m.taken += more
	return nil
}

// give takes bytes out of use.
func (m *meter) give(bytes int) {
	if m != nil {
		m.made = max(m.made-int64(bytes), 0)
	}
}

// tooMuch refuses what is more than the values of a slice may be: for good only if the slice
// is of one row.
func (m *meter) tooMuch(format string, args ...any) error {
	if m != nil && m.most > 0 {
		return errNarrow
	}
	return errorf(ErrTooLarge, noPos, format, args...)
}

// mark is how much is in use.
func (m *meter) mark() int64 {
	if m == nil {
		return 0
	}
	return m.made
}

// settle takes everything out of use that came into it since the mark, but for a result of
// so many bytes.
func (m *meter) settle(mark int64, result int) {
	if m != nil && m.made > mark {
		m.made = min(m.made, mark+int64(result))
	}
}

// column leaves what came into use since the mark in use for all of the slice: it is a column.
func (m *meter) column(mark int64) {
	m.columns += m.made - mark
	m.made = mark
}

// retain leaves so many bytes in use to the end.
func (m *meter) retain(bytes int) { m.kept += int64(bytes) }

// apart accounts for what f makes beside the slice, such as a constant for all slices. Of
// that as much stays in use to the end as f returns.
func (m *meter) apart(f func() (bytes int, err error)) error {
	made, most, peak := m.made, m.most, m.peak
	m.made, m.most = 0, 0
	bytes, err := f()
	if err == nil {
		m.kept += min(m.made, int64(bytes))
	}
	m.made, m.most, m.peak = made, most, peak
	return err
}

// begin starts a slice of so many rows, which may have so many bytes in use if they are
// several.
func (m *meter) begin(rows int, most int64) {
	m.made, m.columns, m.peak, m.most = 0, 0, 0, 0
	if rows > 1 {
		m.most = most
	}
	if spare := m.taken - m.kept; spare > 2*sliceBytes { // of a row that made much
		m.share.Give(spare - sliceBytes)
		m.taken -= spare - sliceBytes
	}
}

// end returns all bytes to the share.
func (m *meter) end() {
	m.share.Give(m.taken)
	m.taken, m.made, m.columns, m.kept = 0, 0, 0, 0
}

// highest is the most that was in use for the slice at once.
func (m *meter) highest() int64 { return m.peak }

// ended is the error of the context, if it has ended.
func (m *meter) ended() error { return m.ctx.Err() }

// step counts work that is about to be done, and looks at the context after some.
func (m *meter) step(work int) error {
	if m == nil {
		return nil
	}
	if m.work -= work; m.work > 0 {
		return nil
	}
	return m.look()
}

// lookBytes is how much of one value is worked on between two looks at the context.
const lookBytes = 1 << 20

// pieces calls f for the parts of a text, which end between characters, and looks at the
// context after each but the last.
func (m *meter) pieces(s []byte, f func(from, to int)) error {
	from := 0
	for len(s)-from > lookBytes {
		to := from + lookBytes
		for to > from+lookBytes-utf8.UTFMax && !utf8.RuneStart(s[to]) {
			to--
		}
		f(from, to)
		if err := m.step(to - from); err != nil {
			return err
		}
		from = to
	}
	f(from, len(s))
	return nil
}

// look looks at the context.
func (m *meter) look() error {
	if m.left > 0 {
		if m.left -= lookWork - m.work; m.left <= 0 {
			m.left = 1 // and no further
			m.work = 0
			return errEffort
		}
	}
	m.work = lookWork
	return m.ctx.Err()
}

// bytes is how much memory the values hold, be it shared with others or not.
func (v vec) bytes() int {
	size := 8 * len(v.valid)
	switch d := v.data.(type) {
	case nil:
	case bitset:
		size += 8 * len(d)
	case text:
		size += d.bytes()
	case lists:
		size += 8*len(d.off) + d.elems.bytes()
	case *array.Struct:
		size += int(d.Data().SizeInBytes())
	case []half:
		size += 2 * len(d)
	default:
		size += len(fixedBytes(v.data))
	}
	return size
}

func (t text) bytes() int {
	switch {
	case t.off32 != nil:
		return 4*len(t.off32) + int(t.off32[len(t.off32)-1]-t.off32[0])
	case t.off64 != nil:
		return 8*len(t.off64) + int(t.off64[len(t.off64)-1]-t.off64[0])
	case t.views != nil:
		return viewBytes * len(t.views)
	}
	return len(t.data)
}

// viewBytes is what a text that is elsewhere takes.
const viewBytes = 24
