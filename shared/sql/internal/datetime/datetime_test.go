package datetime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/datetime"
)

func TestIntervalsAreSumsOfUnits(t *testing.T) {
	for s, want := range map[string]arrow.MonthDayNanoInterval{
		"1 month":                    {Months: 1},
		"1 year 2 Months 3 weeks":    {Months: 14, Days: 21},
		"-1 day 1.5 hours":           {Days: -1, Nanoseconds: 5400e9},
		"1 century 1 decade":         {Months: 1320},
		"0.000000001 seconds 999 ns": {Nanoseconds: 1000},
	} {
		if got, err := datetime.ParseInterval(s); err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", s, got, err, want)
		}
	}
	for s, want := range map[string]error{
		"": sql.ErrUnsupported, "1": sql.ErrUnsupported, "1.5 months": sql.ErrUnsupported, "1 fortnight": sql.ErrSyntax,
		"x days": sql.ErrSyntax, "1e3 days": sql.ErrSyntax, "99999999999 days": sql.ErrValue,
		"11111111111111111111111111111111111111111 ns": sql.ErrTooLarge,
	} {
		if got, err := datetime.ParseInterval(s); !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v, want %v", s, got, err, want)
		}
	}
}

func TestMonthsEndWithTheirLastDay(t *testing.T) {
	at := func(s string) int64 {
		d, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return d.Unix()
	}
	for _, c := range []struct {
		from   string
		months int64
		want   string
	}{
		{"2024-01-31 09:30", 1, "2024-02-29 09:30"}, {"2023-01-31 00:00", 1, "2023-02-28 00:00"}, {"2024-03-31 00:00", -1, "2024-02-29 00:00"},
		{"1969-12-31 23:59", 2, "1970-02-28 23:59"}, {"2024-05-15 12:00", 0, "2024-05-15 12:00"}, {"2024-05-15 12:00", -12, "2023-05-15 12:00"},
	} {
		if got := datetime.AddMonths(at(c.from), c.months); got != at(c.want) {
			t.Errorf("%s and %d months: got %s, want %s", c.from, c.months, time.Unix(got, 0).UTC(), c.want)
		}
	}
}

func TestTextsOfDatesAndTimes(t *testing.T) {
	for s, want := range map[string]int64{"1970-01-02": 1, "1969-12-31": -1, "2024-1-31": 19753, "20240131": 19753, "+2024-01-31": 19753, "2024-01-31T23:00:00Z": 19753} {
		if got, ok := datetime.ParseDate(s); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, ok, want)
		}
	}
	for s, want := range map[string]int64{"9:30": 34200e9, "09:30:15.25": 34215_250_000_000, "12:00 AM": 0, "1:05 pm": 47100e9} {
		if got, ok := datetime.ParseTime(s); !ok || got != want {
			t.Errorf("%s: got %d, %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "2024", "2024-13-01", "2024-02-30", "2024-01-31x", "2024/01/31"} {
		if days, ok := datetime.ParseDate(s); ok {
			t.Errorf("%q: got the day %d", s, days)
		}
	}
	for _, s := range []string{"", "9", "24:00", "9:60", "13:00 PM", "9:30:", "9:30:15."} {
		if nanos, ok := datetime.ParseTime(s); ok {
			t.Errorf("%q: got %d", s, nanos)
		}
	}
}

// Clocks of Berlin show 02:30 never on the last Sunday in March, and twice on that in October.
func TestClocksThatAreTurned(t *testing.T) {
	berlin, err := datetime.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]bool{
		"2024-03-31 01:30:00": true, "2024-03-31 02:30:00": false, "2024-03-31 03:30:00": true,
		"2024-10-27 02:30:00": false, "2024-10-27 03:30:00": true,
	} {
		if at, ok := datetime.ParseTimestamp(s, berlin); ok != want {
			t.Errorf("%s: got %s, %v, want %v", s, at, ok, want)
		}
	}
	for _, name := range []string{"Local", "Nowhere/At_All", "+25:00", "+1"} {
		if zone, err := datetime.LoadZone(name); !errors.Is(err, sql.ErrUnsupported) {
			t.Errorf("%s: got %v, %v", name, zone, err)
		}
	}
}

func TestFormatsReadWhatTheyWrite(t *testing.T) {
	at := time.Date(2024, 2, 29, 13, 5, 9, 120_000_000, time.UTC)
	for s, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S%.3f": "2024-02-29 13:05:09.120", "%d %b %Y, %I:%M:%S%.f %p": "29 Feb 2024, 01:05:09.120 PM",
		"%j of %Y %T.%3f": "060 of 2024 13:05:09.120", "%s%.f": "1709211909.120",
	} {
		f, ok := datetime.ParseFormat(s)
		if !ok {
			t.Errorf("%s is no format", s)
			continue
		}
		got := string(f.Append(nil, at))
		if got != want {
			t.Errorf("%s: got %s, want %s", s, got, want)
		}
		r, ok := f.Read(got)
		if again, known := r.Moment(time.UTC); !ok || !known || !again.Equal(at) {
			t.Errorf("%s: %s is read as %s, %v, %v", s, got, again, ok, known)
		}
	}
	if f, ok := datetime.ParseFormat("%Q"); ok {
		t.Errorf("got %v", f)
	}
}
