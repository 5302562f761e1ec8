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
