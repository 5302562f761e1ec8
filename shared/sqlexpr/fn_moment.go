package sqlexpr

import (
	"math/rand/v2"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"tiltyard/shared/sql/clock"
)

// momentFunctions have no arguments. Those of the clock say the same for every row of a
// request and are constants to the stages after plan; the others differ for every row.
var momentFunctions = map[string]*function{
	"now": {}, "current_date": {}, "current_time": {}, // see clockFunctions

	"random": {bind: signature(gives(typeFloat64)), perRow: randomNumbers},
	"uuid":   {bind: signature(gives(typeString)), perRow: randomUUIDs},
}

// clockFunctions make constants of what the clock says, in UTC; plan has the clock.
var clockFunctions = map[string]func(now time.Time) vec{
	"now": func(now time.Time) vec {
		return constant(timestampType(arrow.Nanosecond, ""), []int64{now.UnixNano()})
	},
	"current_date": func(now time.Time) vec {
		return constant(arrow.FixedWidthTypes.Date32, []int32{int32(clock.FloorDiv(now.Unix(), clock.SecondsPerDay))})
	},
	"current_time": func(now time.Time) vec {
		seconds := now.Unix() - clock.FloorDiv(now.Unix(), clock.SecondsPerDay)*clock.SecondsPerDay
		return constant(arrow.FixedWidthTypes.Time64ns, []int64{seconds*1e9 + int64(now.Nanosecond())})
	},
}

// randomNumbers are at least 0 and less than 1.
func randomNumbers(rows int) vec {
	values := make([]float64, rows)
	for i := range values {
		values[i] = rand.Float64()
	}
	return vec{typ: typeFloat64, n: rows, data: values}
}

func randomUUIDs(rows int) vec {
	b := newTextBuilder(nil, rows)
	for range rows {
		b.data = append(b.data, uuid.NewString()...)
		b.done()
	}
	return vec{typ: typeString, n: rows, data: b.text()}
}
