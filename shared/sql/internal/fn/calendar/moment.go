package calendar

import (
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/datetime"
	"tiltyard/shared/sql/internal/expr"
)

// momentFunctions are the functions without arguments. Clock functions return the same value for every row
// of a request, so package plan replaces them by constants; the others return a new value for every row.
var momentFunctions = map[string]*expr.Function{
	"now": {}, "current_date": {}, "current_time": {}, // see ClockFunctions

	"random": {Bind: expr.Signature(expr.Gives(column.TypeFloat64)), PerRow: randomNumbers},
	"uuid":   {Bind: expr.Signature(expr.Gives(column.TypeString)), PerRow: randomUUIDs},
}

// ClockFunctions return constants for a time in UTC, which package plan provides.
var ClockFunctions = map[string]func(now time.Time) column.Vec{
	"now": func(now time.Time) column.Vec {
		return column.Constant(column.TimestampType(arrow.Nanosecond, ""), []int64{now.UnixNano()})
	},
	"current_date": func(now time.Time) column.Vec {
		return column.Constant(arrow.FixedWidthTypes.Date32, []int32{int32(datetime.FloorDiv(now.Unix(), datetime.SecondsPerDay))})
	},
	"current_time": func(now time.Time) column.Vec {
		seconds := now.Unix() - datetime.FloorDiv(now.Unix(), datetime.SecondsPerDay)*datetime.SecondsPerDay
		return column.Constant(arrow.FixedWidthTypes.Time64ns, []int64{seconds*1e9 + int64(now.Nanosecond())})
	},
}

// randomNumbers returns numbers that are at least 0 and less than 1.
func randomNumbers(rows int) column.Vec {
	values := make([]float64, rows)
	for i := range values {
		values[i] = rand.Float64()
	}
	return column.Vec{Type: column.TypeFloat64, N: rows, Data: values}
}

func randomUUIDs(rows int) column.Vec {
	b := column.NewTextBuilder(nil, rows)
	for range rows {
		b.Data = append(b.Data, uuid.NewString()...)
		b.Done()
	}
	return column.Vec{Type: column.TypeString, N: rows, Data: b.Text()}
}
