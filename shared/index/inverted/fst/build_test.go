package fst

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// FuzzBuilder writes any terms: they are read again, with their numbers.
func FuzzBuilder(f *testing.F) {
	f.Add("a\nab\nabc\nb\nbc\nx")
	f.Add("\n\x00\n\xff\xfe\nstraße\nwords\nwordings")
	f.Fuzz(func(t *testing.T, text string) {
		terms := strings.Split(text, "\n")
		slices.Sort(terms)
		terms = slices.Compact(terms)
		b := NewBuilder()
		for _, term := range terms {
			b.Add(term)
		}
		a, err := New(b.Finish())
		if err != nil {
			if len(terms) == 1 && terms[0] == "" {
				return // it has no nodes
			}
			t.Fatal(err)
		}
		for i, term := range terms {
			if numbers, err := a.Numbers(t.Context(), []string{term}); err != nil || numbers[0] != int64(i) {
				t.Fatalf("term %q of %q: got %d, %v; want %d", term, terms, numbers, err, i)
			}
		}
	})
}

// FuzzAutomaton reads any bytes without a panic and without an endless walk.
func FuzzAutomaton(f *testing.F) {
	for _, terms := range [][]string{{"a", "ab", "abc", "b"}, {"straße", "wording", "words"}} {
		b := NewBuilder()
		for _, term := range terms {
			b.Add(term)
		}
		f.Add(b.Finish(), terms[0])
	}
	f.Fuzz(func(t *testing.T, data []byte, term string) {
		a, err := New(data)
		if err != nil {
			return
		}
		_, _ = a.Numbers(t.Context(), []string{term})
		count := 0
		_ = a.Each(t.Context(), func([]byte) error {
			if count++; count > 1000 {
				return io.EOF
			}
			return nil
		})
	})
}
