package objectstore_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

func TestKeysThatAreNoPathsAreRefused(t *testing.T) {
	good := []string{
		"a", "a/b", "...", "a/..b", "a b", " ", "%2e%2e", "ünï/号", `back\slash`, "new\nline",
		strings.Repeat("k", objectstore.MaxKeyBytes), "_tiltyard",
	}
	for _, key := range good {
		if err := objectstore.CheckKey(key); err != nil {
			t.Errorf("CheckKey(%.20q): got %v, want nil", key, err)
		}
	}
	bad := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "../a", "a/..", "a\x00b", "\xff",
		strings.Repeat("k", objectstore.MaxKeyBytes+1),
	}
	for _, key := range bad {
		if err := objectstore.CheckKey(key); !errors.Is(err, objectstore.ErrInvalidKey) {
			t.Errorf("CheckKey(%.20q): got %v, want ErrInvalidKey", key, err)
		}
	}
}

func TestRangeWithin(t *testing.T) {
	cases := []struct {
		r              objectstore.Range
		size           int64
		offset, length int64
		ok             bool
	}{
		{objectstore.Range{0, 10}, 10, 0, 10, true},
		{objectstore.Range{3, 4}, 10, 3, 4, true},
		{objectstore.Range{10, 0}, 10, 10, 0, true},
		{objectstore.Range{0, 0}, 0, 0, 0, true},
		{objectstore.Range{-4, 0}, 10, 6, 4, true},
		{objectstore.Range{-4, 99}, 10, 6, 4, true},
		{objectstore.Range{-10, 0}, 10, 0, 10, true},
		{objectstore.Range{-11, 0}, 10, 0, 10, true},
		{objectstore.Range{math.MinInt64, 0}, 10, 0, 10, true},
		{objectstore.Range{-1, 0}, 0, 0, 0, true},
		{objectstore.Range{0, 11}, 10, 0, 0, false},
		{objectstore.Range{11, 0}, 10, 0, 0, false},
		{objectstore.Range{5, -1}, 10, 0, 0, false},
		{objectstore.Range{1, math.MaxInt64}, 10, 0, 0, false},
		{objectstore.Range{math.MaxInt64, math.MaxInt64}, 10, 0, 0, false},
	}
	for _, c := range cases {
		offset, length, err := c.r.Within(c.size)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, objectstore.ErrInvalidRange) {
			t.Errorf("%+v.Within(%d): got error %v, want ok %v", c.r, c.size, err, c.ok)
		}
		if offset != c.offset || length != c.length {
			t.Errorf("%+v.Within(%d): got %d+%d, want %d+%d", c.r, c.size, offset, length, c.offset, c.length)
		}
	}
}
