package rowerror

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// unit returns a unit of a job and a fragment, with failures of so many rows.
func unit(job string, fragment uint64, rows int) *Unit {
	u := &Unit{Job: job, Fragment: fragment, Column: "c" + job, Function: "f", FunctionVersion: "2", TableVersion: 7, At: testNow}
	for i := range rows {
		u.Add(Row{Offset: uint32(10 * i), Type: "ValueError", Message: fmt.Sprintf("row %d", i)})
	}
	return u
}

func TestUnitIsReadAsItWasWritten(t *testing.T) {
	for _, rows := range []int{0, 1, 3, MaxRows, MaxRows + 5} {
		u := unit("a", 1<<40, rows)
		object, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		u.Recorded = min(rows, MaxRows)
		if diff := cmp.Diff(u, got); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", rows, diff)
		}
	}
}

func TestTextsAreCutAndValid(t *testing.T) {
	var u Unit
	u.Add(Row{Type: "\xff", Message: strings.Repeat("ä", MaxMessageBytes)})
	u.Add(Row{Message: "x" + strings.Repeat("ä", MaxMessageBytes)})
	if got := u.Rows[0]; got.Type != "?" || len(got.Message) != MaxMessageBytes {
		t.Errorf("got type %q and %d bytes", got.Type, len(got.Message))
	}
	if got := u.Rows[1].Message; len(got) != MaxMessageBytes-1 || strings.ToValidUTF8(got, "") != got {
		t.Errorf("got %d bytes, want the last letter left out whole", len(got))
	}
}

func TestMalformedObjectsAreRefused(t *testing.T) {
	good, err := unit("a", 1, 3).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		_, err := Decode(t.Context(), good[:i])
		if !errors.Is(err, ErrMalformed) {
			t.Fatalf("the first %d bytes: %v, want ErrMalformed", i, err)
		}
	}
	claims := unit("a", 1, 3)
	claims.Skipped = 2
	more, err := claims.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(t.Context(), more); !errors.Is(err, ErrMalformed) {
		t.Errorf("three rows of two: %v, want ErrMalformed", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, rows := range []int{0, 2, MaxRows} {
		object, err := unit("a", 1, rows).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		u, err := Decode(t.Context(), object)
		if err != nil {
			return
		}
		again, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(t.Context(), again)
		if err != nil || !cmp.Equal(u, got) {
			t.Errorf("read again: %v\n%s", err, cmp.Diff(u, got))
		}
	})
}

// told returns the rows of a listing as job/fragment/offset.
func told(l Listing) string {
	var b bytes.Buffer
	for _, u := range l.Units {
		for _, r := range u.Rows {
			fmt.Fprintf(&b, "%s/%d/%d ", u.Job, u.Fragment, r.Offset)
		}
	}
	return strings.TrimSpace(b.String())
}

func TestList(t *testing.T) {
	area := Area{Store: memstore.New(), Prefix: "t.lance"}
	for _, u := range []*Unit{unit("b", 10, 2), unit("b", 9, 1), unit("a", 3, 2), unit("c", 0, 1)} {
		if err := area.Put(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	if err := area.Put(t.Context(), unit("b", 9, 2)); err != nil { // it replaces the one before
		t.Fatal(err)
	}
	if _, err := area.Store.Put(t.Context(), "t.lance/_errors/b/00000000000000000011.arrow", []byte("damaged"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name      string
		query     Query
		want      string
		truncated bool
	}{
		{"all", Query{Limit: 100}, "a/3/0 a/3/10 b/9/0 b/9/10 b/10/0 b/10/10 c/0/0", false},
		{"exactly all", Query{Limit: 7}, "a/3/0 a/3/10 b/9/0 b/9/10 b/10/0 b/10/10 c/0/0", false},
		{"some", Query{Limit: 3}, "a/3/0 a/3/10 b/9/0", true},
		{"some whole units", Query{Limit: 4}, "a/3/0 a/3/10 b/9/0 b/9/10", true},
		{"none", Query{Limit: 0}, "", true},
		{"a job", Query{Job: "b", Limit: 100}, "b/9/0 b/9/10 b/10/0 b/10/10", false},
		{"no such job", Query{Job: "d", Limit: 100}, "", false},
		{"a column", Query{Column: "cc", Limit: 100}, "c/0/0", false},
		{"a column of another job", Query{Job: "b", Column: "cc", Limit: 100}, "", false},
		{"old ones", Query{Since: testNow.Add(time.Second), Limit: 100}, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := area.List(t.Context(), c.query)
			if err != nil {
				t.Fatal(err)
			}
			if told(got) != c.want || got.Truncated != c.truncated {
				t.Errorf("got %q, truncated %v; want %q, %v", told(got), got.Truncated, c.want, c.truncated)
			}
		})
	}
}

func TestListReadsManyUnits(t *testing.T) {
	area := Area{Store: memstore.New(), Prefix: "t.lance"}
	const units = 3*windowUnits + 1
	for i := range units {
		if err := area.Put(t.Context(), unit("a", uint64(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, windowUnits, windowUnits + 1, units} {
		got, err := area.List(t.Context(), Query{Limit: limit})
		if err != nil || len(got.Units) != limit || got.Truncated != (limit < units) {
			t.Errorf("limit %d: %d units, truncated %v, %v", limit, len(got.Units), got.Truncated, err)
		}
	}
}

func TestExpire(t *testing.T) {
	area := Area{Store: memstore.New(), Prefix: "t.lance"}
	for i := range 20 {
		if err := area.Put(t.Context(), unit("a", uint64(i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		before  time.Time
		dry     bool
		expired int
		left    int
	}{
		{time.Now().Add(-time.Hour), false, 0, 20}, {time.Now().Add(time.Hour), true, 20, 20}, {time.Now().Add(time.Hour), false, 20, 0},
	} {
		objects, size, err := area.Expire(t.Context(), c.before, c.dry)
		if err != nil || objects != c.expired || size > 0 != (c.expired > 0) {
			t.Errorf("expired %d of %d bytes, %v; want %d", objects, size, err, c.expired)
		}
		if got, err := area.List(t.Context(), Query{Limit: 100}); err != nil || len(got.Units) != c.left {
			t.Errorf("%d units are left, %v; want %d", len(got.Units), err, c.left)
		}
	}
}
