package cache_test

import (
	"testing"

	"tiltyard/shared/lance/internal/cache"
)

func TestValuesAreFoundUnderTheirWholeKey(t *testing.T) {
	c := cache.New(1 << 20)
	cache.Put(c, "file:///t", "footer", 7, 8)
	cases := []struct {
		name, object, part string
		want               bool
	}{
		{"the key", "file:///t", "footer", true},
		{"another part", "file:///t", "rows", false},
		{"another object", "file:///u", "footer", false},
	}
	for _, x := range cases {
		if got, ok := cache.Get[int](c, x.object, x.part); ok != x.want || ok && got != 7 {
			t.Errorf("%s: got %d, %t; want %t", x.name, got, ok, x.want)
		}
	}
	if got, ok := cache.Get[string](c, "file:///t", "footer"); ok {
		t.Errorf("a value of another type: got %q", got)
	}
	c.Drop("file:///t", "footer")
	if _, ok := cache.Get[int](c, "file:///t", "footer"); ok {
		t.Error("a dropped value is still there")
	}
}

func TestUsageCountsLookupsAndBytes(t *testing.T) {
	c := cache.New(1 << 20)
	if got := c.Usage(); got != (cache.Usage{LimitBytes: 1 << 20}) {
		t.Errorf("a new cache: %+v", got)
	}
	cache.Put(c, "file:///t", "footer", 7, 5000)
	for _, part := range []string{"footer", "footer", "rows"} {
		cache.Get[int](c, "file:///t", part)
	}
	got := c.Usage()
	if got.Hits != 2 || got.Misses != 1 || got.HeldBytes < 5000 || got.HeldBytes > 6000 {
		t.Errorf("after two hits and a miss beside 5000 bytes: %+v", got)
	}
	for i := range 1000 {
		cache.Put(c, "file:///t", string(rune(i)), i, 5000)
	}
	if got := c.Usage(); got.HeldBytes > got.LimitBytes || got.HeldBytes < got.LimitBytes/2 {
		t.Errorf("after five times the limit: %+v", got)
	}
	c.Drop("file:///t", "footer")
	before := c.Usage().Misses
	cache.Get[int](c, "file:///t", "footer")
	if got := c.Usage(); got.Misses != before+1 {
		t.Errorf("a dropped value is no miss: %+v", got)
	}
}

func TestPutKeepsNoValueOfALargePartOfTheBudget(t *testing.T) {
	c := cache.New(1 << 20)
	cache.Put(c, "file:///t", "large", 7, 1<<19)
	if _, ok := cache.Get[int](c, "file:///t", "large"); ok {
		t.Error("the cache keeps a value of half of its budget")
	}
}

func TestZeroIsTheDefaultBudget(t *testing.T) {
	if got := cache.New(0).MaxBytes(); got != cache.DefaultBytes {
		t.Errorf("got %d bytes, want %d", got, cache.DefaultBytes)
	}
}
