package datafile

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestScratch(t *testing.T) {
	paths, _ := filepath.Glob(os.Getenv("SCRATCH_GLOB"))
	if len(paths) == 0 {
		t.Skip()
	}
	ok := 0
	errs := map[string][]string{}
	rng := rand.New(rand.NewSource(1))
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".lance")
		if err := scratchOne(t, p, rng); err != nil {
			msg := err.Error()
			if len(msg) > 160 {
				msg = msg[:160]
			}
			errs[msg] = append(errs[msg], name)
			continue
		}
		ok++
	}
	t.Logf("ok %d of %d", ok, len(paths))
	for k, v := range errs {
		n := len(v)
		if len(v) > 6 {
			v = v[:6]
		}
		t.Errorf("%d × %s: %v", n, k, v)
	}
}

func scratchOne(t *testing.T, p string, rng *rand.Rand) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("PANIC %v", r)
			if os.Getenv("SCRATCH_PANIC") != "" {
				panic(r)
			}
		}
	}()
	data, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	f, err := openBytes(data)
	if err != nil {
		return err
	}
	s, err := f.Schema(context.Background())
	if err != nil {
		return err
	}
	want := expected(t, p)["c"]
	texts := make([]string, want.Len())
	for i := range texts {
		texts[i] = text(want, i)
	}
	check := func(what string, got []arrow.Array, err error, rows []int64) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if got[0].Len() != len(rows) {
			return fmt.Errorf("%s: %d rows, want %d", what, got[0].Len(), len(rows))
		}
		for i, r := range rows {
			if g := text(got[0], i); g != texts[r] {
				return fmt.Errorf("%s row: got %.60s want %.60s", what, g, texts[r])
			}
		}
		return nil
	}
	span := func(a, b int64) []int64 {
		var r []int64
		for ; a < b; a++ {
			r = append(r, a)
		}
		return r
	}
	n := f.NumRows()
	ctx := context.Background()
	got, err := f.ReadRange(ctx, s.Fields, 0, n)
	if err := check("all", got, err, span(0, n)); err != nil {
		return err
	}
	for k := 0; k < 6; k++ {
		a := rng.Int63n(n + 1)
		b := a + rng.Int63n(n-a+1)
		if k > 3 && b > a+3 {
			b = a + 3
		}
		got, err := f.ReadRange(ctx, s.Fields, a, b)
		if err := check("range", got, err, span(a, b)); err != nil {
			return err
		}
	}
	for k := 0; k < 4; k++ {
		var rows []int64
		pr := []float64{.5, .1, .01, .003}[k]
		for r := int64(0); r < n; r++ {
			if rng.Float64() < pr {
				rows = append(rows, r)
			}
		}
		got, err := f.Take(ctx, s.Fields, rows)
		if err := check("take", got, err, rows); err != nil {
			return err
		}
	}
	return nil
}
