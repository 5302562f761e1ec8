package record_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/storage/record"
)

func TestKeysThatCannotBePathsAreRefused(t *testing.T) {
	for _, key := range []string{"job/0af", "once/3f/9_-", "a/" + strings.Repeat("b", record.MaxKeyBytes-2)} {
		if err := record.CheckKey(key); err != nil {
			t.Errorf("%q: got %v, want it accepted", key, err)
		}
	}
	for _, key := range []string{"", "job", "job/", "/job", "a//b", "../a", "a/.", "A/b", "a/b c", "a/é", "a/b\x00", "a/" + strings.Repeat("b", record.MaxKeyBytes)} {
		if err := record.CheckKey(key); err == nil {
			t.Errorf("%q is accepted, want it refused", key)
		}
	}
}

func TestRecordExpiresAtItsTime(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, test := range []struct {
		expires time.Time
		want    bool
	}{{time.Time{}, false}, {now.Add(time.Second), false}, {now, true}, {now.Add(-time.Second), true}} {
		if got := (record.Record{Expires: test.expires}).Expired(now); got != test.want {
			t.Errorf("expires %v, now %v: got %v, want %v", test.expires, now, got, test.want)
		}
	}
}

func TestTracesTellWhoWrote(t *testing.T) {
	mine := record.Trace{Write: "m", After: "p"}
	first := record.Trace{Write: "m"}
	for _, test := range []struct {
		name        string
		mine, found record.Trace
		want        error
	}{
		{"mine is there", mine, record.Trace{"m", "p"}, nil},
		{"mine was followed", mine, record.Trace{"x", "m"}, nil},
		{"another replaced the same", mine, record.Trace{"x", "p"}, record.ErrConflict},
		{"nothing happened yet", mine, record.Trace{"p", "o"}, record.ErrUnknownOutcome},
		{"others went on", mine, record.Trace{"y", "x"}, record.ErrUnknownOutcome},
		{"mine is the first", first, record.Trace{"m", ""}, nil},
		{"another was the first", first, record.Trace{"x", ""}, record.ErrConflict},
		{"others went on from the first", first, record.Trace{"y", "x"}, record.ErrUnknownOutcome},
	} {
		if got := test.mine.Settle(test.found); !errors.Is(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
