package record

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestKeysThatCannotBePathsAreRefused(t *testing.T) {
	for _, key := range []string{"job/0af", "once/3f/9_-", "a/" + strings.Repeat("b", MaxKeyBytes-2)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("%q: got %v, want it accepted", key, err)
		}
	}
	for _, key := range []string{"", "job", "job/", "/job", "a//b", "../a", "a/.", "A/b", "a/b c", "a/é", "a/b\x00", "a/" + strings.Repeat("b", MaxKeyBytes)} {
		if err := CheckKey(key); err == nil {
			t.Errorf("%q is accepted, want it refused", key)
		}
	}
}

func TestARecordExpiresAtItsTime(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, test := range []struct {
		expires time.Time
		want    bool
	}{{time.Time{}, false}, {now.Add(time.Second), false}, {now, true}, {now.Add(-time.Second), true}} {
		if got := (Record{Expires: test.expires}).Expired(now); got != test.want {
			t.Errorf("expires %v, now %v: got %v, want %v", test.expires, now, got, test.want)
		}
	}
}

func TestTracesTellWhoWrote(t *testing.T) {
	mine := Trace{Write: "m", After: "p"}
	first := Trace{Write: "m"}
	for _, test := range []struct {
		name        string
		mine, found Trace
		want        error
	}{
		{"mine is there", mine, Trace{"m", "p"}, nil},
		{"mine was followed", mine, Trace{"x", "m"}, nil},
		{"another replaced the same", mine, Trace{"x", "p"}, ErrConflict},
		{"nothing happened yet", mine, Trace{"p", "o"}, ErrUnknownOutcome},
		{"others went on", mine, Trace{"y", "x"}, ErrUnknownOutcome},
		{"mine is the first", first, Trace{"m", ""}, nil},
		{"another was the first", first, Trace{"x", ""}, ErrConflict},
		{"others went on from the first", first, Trace{"y", "x"}, ErrUnknownOutcome},
	} {
		if got := test.mine.Settle(test.found); !errors.Is(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
