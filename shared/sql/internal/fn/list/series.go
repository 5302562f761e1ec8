package list

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
)

// seriesFunctions make lists of values at equal steps. The end is included by
// generate_series and excluded by range.
var seriesFunctions = map[string]*expr.Function{
	"range":           {MinArgs: 1, MaxArgs: 3, Intervals: true, Bind: bindSeries, Eval: evalSeries},
	"generate_series": {MinArgs: 1, MaxArgs: 3, Intervals: true, Bind: bindSeries, Eval: evalSeries},
}

// bindSeries accepts integers, by default from 0 in steps of 1, or dates or timestamps with
// an interval.
func bindSeries(n *expr.Node) (*expr.Node, error) {
	last := n.Args[len(n.Args)-1]
	if last.Type.ID() != arrow.INTERVAL_MONTH_DAY_NANO {
		return expr.Signature(expr.Gives(arrow.ListOf(column.TypeInt64)), expr.WholeNumber)(n)
	}
	if len(n.Args) != 3 {
		return nil, expr.Mismatch(n)
	}
	typ := arrow.DataType(arrow.FixedWidthTypes.Date32)
	for _, a := range n.Args[:2] {
		switch {
		case column.IsTimestamp(a.Type) && column.ZoneOf(a.Type) == "":
			typ = column.TimestampType(arrow.Nanosecond, "")
		case a.Type.ID() != arrow.DATE32 && a.Type.ID() != arrow.NULL:
			return nil, sql.Errorf(sql.ErrUnsupported, n.Pos, "%s of %s", n.Func.Name, a.Type)
		}
	}
	return expr.CastArgs(n, arrow.ListOf(typ), typ, typ, last.Type)
}

func evalSeries(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	switch elem := column.ElemType(n.Type); {
	case elem.ID() == arrow.INT64:
		return integerSeries(m, n, args, rows)
	case elem.ID() == arrow.DATE32:
		return dateSeries(m, n, args, rows)
	}
	return timestampSeries(m, n, args, rows)
}

// integerSeries returns the numbers from start to stop by step. A step of 0 is an error.
func integerSeries(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	start, stop, step := func(int) int64 { return 0 }, column.ValuesOf[int64](args[0]), func(int) int64 { return 1 }
	if len(args) > 1 {
		start, stop = stop, column.ValuesOf[int64](args[1])
	}
	if len(args) > 2 {
		step = column.ValuesOf[int64](args[2])
	}
	return makeSeries(m, n, args, rows, func(i int, add func(v int64) bool) error {
		at, end, by := start(i), stop(i), step(i)
		if by == 0 {
			return sql.Errorf(sql.ErrValue, sql.NoPos, "%s with a step of 0", n.Func.Name)
		}
		closed := n.Func.Name == "generate_series"
		for by > 0 && at < end || by < 0 && at > end || closed && at == end {
			if !add(at) {
				break
			}
			next := at + by
			if (next > at) != (by > 0) {
				break // past the last int64
			}
			at = next
		}
		return nil
	})
}

// dateSeries steps by months and days on the calendar. A range ends one step before its bound, counted back
// from the bound. With months of different lengths, that can be another day than the steps from the start
// reach.
func dateSeries(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	start, stop, step := column.ValuesOf[int32](args[0]), column.ValuesOf[int32](args[1]), column.ValuesOf[arrow.MonthDayNanoInterval](args[2])
	return makeSeries(m, n, args, rows, func(i int, add func(v int32) bool) error {
		by, end := step(i), int64(stop(i))
		if by.Months == 0 && by.Days == 0 {
			return sql.Errorf(sql.ErrValue, sql.NoPos, "%s of dates with a step of less than a day", n.Func.Name)
		}
		if n.Func.Name == "range" {
			end = addToDate(end, -by.Months, -by.Days)
		}
		down := by.Months < 0 || by.Days < 0
		for at := int64(start(i)); down && at >= end || !down && at <= end; {
			if at != int64(int32(at)) || !add(int32(at)) {
				break
			}
			next := addToDate(at, by.Months, by.Days)
			if next == at || next < at != down {
				return sql.Errorf(sql.ErrValue, sql.NoPos, "%s with a step that goes nowhere", n.Func.Name)
			}
			at = next
		}
		return nil
	})
}

// addToDate adds months and then days to days since 1970.
func addToDate(date int64, months, days int32) int64 {
	return datetime.FloorDiv(datetime.AddMonths(date*datetime.SecondsPerDay, int64(months)), datetime.SecondsPerDay) + int64(days)
}

// timestampSeries steps by months, days and nanoseconds, which must have the same sign.
func timestampSeries(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	start, stop, step := column.ValuesOf[int64](args[0]), column.ValuesOf[int64](args[1]), column.ValuesOf[arrow.MonthDayNanoInterval](args[2])
	closed := n.Func.Name == "generate_series"
	return makeSeries(m, n, args, rows, func(i int, add func(v int64) bool) error {
		by, end := step(i), stop(i)
		down := by.Months < 0 || by.Days < 0 || by.Nanoseconds < 0
		for at := start(i); at < end && !down || at > end && down || closed && at == end; {
			if !add(at) {
				break
			}
			t := time.Unix(0, at)
			t = time.Unix(datetime.AddMonths(t.Unix(), int64(by.Months))+int64(by.Days)*datetime.SecondsPerDay, int64(t.Nanosecond())+by.Nanoseconds)
			if !datetime.NanosecondYears(t) {
				break
			}
			next := t.UnixNano()
			if next == at || next < at != down {
				return sql.Errorf(sql.ErrValue, sql.NoPos, "%s with a step that goes nowhere", n.Func.Name)
			}
			at = next
		}
		return nil
	})
}

// makeSeries makes a list per row of the values that f adds. It fails if there are too many.
func makeSeries[T int32 | int64](m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset, f func(i int, add func(v T) bool) error) (column.Vec, error) {
	out, live := expr.CallRows(n, args, rows)
	values, off := []T{}, make([]int64, 1, out.N+1)
	var full error
	add := func(v T) bool {
		if len(values) == cap(values) {
			size := max(2*cap(values), 64)
			if full = m.Take(8 * size); full == nil && len(values) > column.MaxMade {
				full = m.TooMuch("lists of more than %d elements", column.MaxMade)
			}
			if full == nil {
				full = m.Step(8 * size)
			}
			if full != nil {
				return false
			}
			m.Give(8 * cap(values))
			values = append(make([]T, 0, size), values...)
		}
		values = append(values, v)
		return true
	}
	for i := range out.N {
		if live == nil || live.Has(i) {
			before := len(values)
			if err := f(i, add); err != nil {
				return column.Vec{}, err
			}
			if full == nil && len(values) > column.MaxMade {
				full = m.TooMuch("lists of more than %d elements", column.MaxMade)
			}
			if full != nil {
				return column.Vec{}, full
			}
			if err := m.Step(16 * (len(values) - before + 1)); err != nil {
				return column.Vec{}, err
			}
		}
		off = append(off, int64(len(values)))
	}
	out.Data = column.Lists{Off: off, Elems: column.Vec{Type: column.ElemType(n.Type), N: len(values), Data: values}}
	return out, nil
}
