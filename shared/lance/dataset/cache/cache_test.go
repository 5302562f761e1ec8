package cache

import "testing"

func TestValuesAreFoundUnderTheirWholeKey(t *testing.T) {
	c := New(1 << 20)
	Put(c, "file:///t", "footer", 7, 8)
	cases := []struct {
		name, object, part string
		want               bool
	}{
		{"the key", "file:///t", "footer", true},
		{"another part", "file:///t", "rows", false},
		{"another object", "file:///u", "footer", false},
	}
	for _, x := range cases {
		if got, ok := Get[int](c, x.object, x.part); ok != x.want || ok && got != 7 {
			t.Errorf("%s: got %d, %t; want %t", x.name, got, ok, x.want)
		}
	}
	if got, ok := Get[string](c, "file:///t", "footer"); ok {
		t.Errorf("a value of another type: got %q", got)
	}
	c.Drop("file:///t", "footer")
	if _, ok := Get[int](c, "file:///t", "footer"); ok {
		t.Error("a dropped value is still there")
	}
}

func TestNoValueTakesALargePartOfTheBudget(t *testing.T) {
	c := New(1 << 20)
	Put(c, "file:///t", "large", 7, 1<<19)
	if _, ok := Get[int](c, "file:///t", "large"); ok {
		t.Error("the cache keeps a value of half of its budget")
	}
}

func TestZeroIsTheDefaultBudget(t *testing.T) {
	if got := New(0).MaxBytes(); got != DefaultBytes {
		t.Errorf("got %d bytes, want %d", got, DefaultBytes)
	}
}
