package bloomfilter

import "testing"

// An untrusted file cannot declare a filter larger than the limit.
func TestRecipesOfFilesAreBounded(t *testing.T) {
	cases := []struct {
		name              string
		rows, probability string
		want              Recipe
	}{
		{"none", "", "", Usual},
		{"its own", "100", "0.01", Recipe{100, 0.01}},
		{"one row", "1", "0.5", Recipe{1, 0.5}},
		{"no number", "many", "few", Usual},
		{"nothing", "0", "0", Usual},
		{"negative", "-5", "-1", Usual},
		{"too many rows", "1000000000000", "0.01", Recipe{Usual.Rows, 0.01}},
		{"too sure", "1000000", "1e-300", Usual},
		{"not a number", "100", "NaN", Recipe{100, Usual.Probability}},
		{"always", "100", "1", Recipe{100, Usual.Probability}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := recipeOf(map[string]string{rowsKey: c.rows, probabilityKey: c.probability})
			if got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if n := got.filterBytes(); n < blockBytes || n > maxFilterBytes || n&(n-1) != 0 {
				t.Errorf("a filter of %d bytes", n)
			}
		})
	}
}

func TestNewRecipesAreBounded(t *testing.T) {
	rows, many, probability, tiny := int64(100), int64(1<<31), 0.01, 1e-300
	for _, c := range []struct {
		rows        *int64
		probability *float64
		want        Recipe
		fits        bool
	}{
		{nil, nil, Usual, true},
		{&rows, nil, Recipe{100, Usual.Probability}, true},
		{&rows, &probability, Recipe{100, 0.01}, true},
		{&many, nil, Recipe{1 << 31, Usual.Probability}, false},
		{nil, &tiny, Recipe{Usual.Rows, tiny}, false},
	} {
		if got, fits := NewRecipe(c.rows, c.probability); got != c.want || fits != c.fits {
			t.Errorf("got %v, %v; want %v, %v", got, fits, c.want, c.fits)
		}
	}
}
