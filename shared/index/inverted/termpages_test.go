package inverted

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/inverted/fst"
)

// words returns n different terms as numerous texts have them: most are rare, of letters as frequent as those of a language.
func words(n int) []string {
	random := rand.New(rand.NewPCG(5, 6))
	letters := []byte("eeeeeeeetttttaaaaooooiiiinnnnsssshhhrrrddllluuccmmwwffggyyppbbvkjxqz0123456789")
	seen := map[string]bool{}
	for len(seen) < n {
		word := make([]byte, 2+random.IntN(10))
		for i := range word {
			word[i] = letters[random.IntN(len(letters))]
		}
		seen[string(word)] = true
	}
	all := make([]string, 0, n)
	for word := range seen {
		all = append(all, word)
	}
	slices.Sort(all)
	return all
}

// encodedTerms returns the automaton of terms.
func encodedTerms(terms []string) []byte {
	b := fst.NewBuilder()
	for _, term := range terms {
		b.Add(term)
	}
	return b.Finish()
}

// pagedOf returns an automaton that is read in blocks, of which some are kept.
func pagedOf(t testing.TB, data []byte, keep int64) *pagedAutomaton {
	t.Helper()
	out := indextest.NewOutput(t)
	p := &partition{files: out.Folder, tokenFormat: automatonForm}
	if err := writeTokens(t.Context(), out, *p, tokens{automaton: data, count: 1, bytes: 1}); err != nil {
		t.Fatal(err)
	}
	if keep > 0 {
		out.Folder.Kept = &indextest.Kept{Bytes: keep, Values: map[string]any{}}
		p.files = out.Folder
	}
	d, err := p.openDictionary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paged, ok := d.(*pagedAutomaton)
	if !ok {
		t.Fatal("the terms are not paged")
	}
	return paged
}

func TestPagedTermsAreTheSame(t *testing.T) {
	terms := words(300_000)
	data := encodedTerms(terms)
	whole, err := fst.New(data)
	if err != nil {
		t.Fatal(err)
	}
	paged := pagedOf(t, data, 1<<30)
	random := rand.New(rand.NewPCG(7, 8))
	for round := range 200 {
		if round%10 == 0 {
			clear(paged.files.(indextest.Folder).Kept.Values)
		}
		asked := []string{"", "\x00", "zzzzzzzzzzzzzzzzzz"}
		for range 1 + random.IntN(20) {
			term := terms[random.IntN(len(terms))]
			asked = append(asked, term, term+"q", term[:len(term)-1])
		}
		want, err := whole.Numbers(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		got, err := paged.Numbers(t.Context(), asked)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("numbers of %q: got %v, %v; want %v", asked, got, err, want)
		}
	}
	var all []string
	if err := paged.Each(t.Context(), func(term []byte) error { all = append(all, string(term)); return nil }); err != nil || !slices.Equal(all, terms) {
		t.Fatalf("got %d terms, %v; want %d", len(all), err, len(terms))
	}
}

// A search for a term of many reads few of the blocks, in few rounds.
func TestPagedTermsReadFewBlocks(t *testing.T) {
	terms := words(500_000)
	paged := pagedOf(t, encodedTerms(terms), 1<<30)
	random := rand.New(rand.NewPCG(7, 8))
	const tries = 200
	rounds, blocks := 0, 0
	for range tries {
		clear(paged.files.(indextest.Folder).Kept.Values)
		b, w := termBlocks{of: paged, held: map[int64][]byte{}}, paged.Begin()
		for term := terms[random.IntN(len(terms))]; ; rounds++ {
			if err := w.Advance(&paged.Automaton, term, b.before); err != nil {
				t.Fatal(err)
			}
			if len(b.missing) == 0 {
				break
			}
			blocks += len(b.missing)
			if err := b.read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all := paged.place.Size / termBlock; all < 60 || rounds > 5*tries || blocks > 6*tries {
		t.Errorf("%d terms took %d rounds and %d blocks; the automaton has %d", tries, rounds, blocks, all)
	}
}
