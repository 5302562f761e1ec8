package kinds_test

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/syntax"
)

func TestKindsTestTheirProbes(t *testing.T) {
	equal, unequal := pruning.Probe{Test: pruning.Equal}, pruning.Probe{Test: pruning.Equal, Not: true}
	null, notNull := pruning.Probe{Test: pruning.Null}, pruning.Probe{Test: pruning.Null, Not: true}
	below := pruning.Probe{Test: pruning.Range}
	begins, like, has := pruning.Probe{Test: pruning.Prefix}, pruning.Probe{Test: pruning.Pattern}, pruning.Probe{Test: pruning.Contains, Text: "abc"}
	elements, words := pruning.Probe{Test: pruning.Elements}, pruning.Probe{Test: pruning.Tokens}
	all := []pruning.Probe{equal, unequal, null, notNull, below, begins, like, has, elements, words}
	const no, yes = pruning.Open, pruning.Answers
	for kind, answers := range map[indexmeta.Kind][]pruning.Answer{
		//             equal, unequal, null, notNull, below, begins, like, has, elements, words
		indexmeta.BTree:       {yes, yes, yes, yes, yes, yes, no, no, no, no},
		indexmeta.Bitmap:      {yes, yes, yes, yes, yes, no, no, no, no, no},
		indexmeta.ZoneMap:     {yes, no, yes, yes, yes, yes, no, no, no, no},
		indexmeta.BloomFilter: {yes, no, yes, no, no, no, no, no, no, no},
		indexmeta.LabelList:   {no, no, no, no, no, no, no, no, yes, no},
		indexmeta.Ngram:       {no, no, no, no, no, no, no, yes, no, no},
		indexmeta.Text:        {no, no, no, no, no, no, no, no, no, yes},
	} {
		filters := kinds.Of(kind).Filters
		for i, probe := range all {
			if got := filters.Answers(probe); got != answers[i] {
				t.Errorf("%s asked %+v: got %d, want %d", kind, probe, got, answers[i])
			}
		}
	}
	if kinds.Of(indexmeta.Vector).Filters != nil {
		t.Error("filters use indices of vectors")
	}
}

// According to its plans, native Lance 14.0.2 uses the index for exactly these filters.
func TestNgramIndicesTestWhatNativeLanceAsksThem(t *testing.T) {
	const no, some, yes = pruning.Open, pruning.Narrows, pruning.Answers
	fields := []arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}
	for filter, want := range map[string]pruning.Answer{
		"contains(s, 'fo')":                        no,
		"contains(s, 'o b')":                       yes,
		"contains(s, '日本語')":                       yes,
		"NOT contains(s, 'foo')":                   no,
		"s LIKE '%foo%'":                           some,
		"s LIKE '%fo_o%'":                          no,
		"s LIKE '%fo o%'":                          no,
		"s LIKE 'foo'":                             no,
		"s LIKE '%日本語%'":                           no,
		"s LIKE '%éàü%'":                           some,
		"s LIKE '%½¼¾%'":                           some, // 1/2, 1/4 and 3/4
		"s LIKE '%ßa%'":                            no,   // ssa, of two letters
		`s LIKE '%f\oo%'`:                          no,
		`s LIKE '%f\oo%' ESCAPE '\'`:               some,
		`s LIKE '%foo\_%'`:                         some,
		"s NOT LIKE '%foo%'":                       no,
		"s ILIKE '%foo%'":                          no,
		"starts_with(s, 'foo')":                    some,
		"starts_with(s, 'fo_o')":                   no,
		"ends_with(s, 'foo')":                      no,
		"regexp_like(s, 'foo')":                    some, // LIKE '%foo%'
		"regexp_like(s, '^foo')":                   some,
		"regexp_like(s, 'foo$')":                   some,
		"regexp_like(s, '^foo$')":                  no, // = 'foo'
		"regexp_like(s, 'fo+bar')":                 no,
		"regexp_like(s, 'foo|bar')":                no, // every alternative has too few known trigrams
		"regexp_like(s, 'foo', '')":                some,
		"regexp_like(s, 'foo', 'i')":               no,
		"regexp_like(s, 'foo', 's')":               yes,
		"regexp_like(s, 'foo|bar', 'ms')":          yes,
		"regexp_like(s, 'foo', 'is')":              no,
		"regexp_like(s, '123', 'is')":              yes,
		"regexp_like(s, 'foo', 'U')":               no,
		"regexp_like(s, 'foo', NULL)":              no,
		"regexp_like(s, 'foo', 's') IS TRUE":       no,
		"NOT regexp_like(s, 'foo', 's')":           no,
		"regexp_match(s, 'foo')":                   yes,
		"regexp_match(s, 'foo') IS NOT NULL":       yes,
		"regexp_match(s, 'foo') IS NULL":           no,
		"NOT regexp_match(s, 'foo')":               no,
		"regexp_match(s, NULL)":                    no,
		"regexp_match(s, 'fo.o')":                  no,
		"regexp_match(s, 'foo|ba')":                no,
		"regexp_match(s, '(aa|ab)c')":              yes,
		"regexp_match(s, '[ab]ac')":                no,
		"regexp_match(s, '(?:a|a)bc')":             yes,
		"regexp_match(s, 'fo{2}')":                 no,
		"regexp_match(s, 'fo{1}o')":                yes,
		"regexp_match(s, '(foo)+')":                yes,
		"regexp_match(s, '(foo)?')":                no,
		"regexp_match(s, 'f^oo')":                  yes,
		"regexp_match(s, '(?i)foo')":               no,
		"regexp_match(s, '(?i:f)123')":             yes,
		"regexp_match(s, 'ﬃ')":                     yes, // ffi
		"regexp_match(upper(s), 'foo')":            no,
		"regexp_match('foo', s)":                   no,
		"array_length(regexp_match(s, 'foo')) = 1": no,
	} {
		e, err := syntax.Parse(filter)
		if err != nil {
			t.Fatal(err)
		}
		bound, err := plan.BindFilter(t.Context(), e, arrow.NewSchema(fields, nil), time.Now())
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		got := no
		used, _ := bound.Narrow(func(p pruning.Probe) pruning.Answer {
			got = kinds.Of(indexmeta.Ngram).Filters.Answers(p)
			return got
		})
		if used == nil {
			got = no
		}
		if got != want {
			t.Errorf("%s: got %d, want %d", filter, got, want)
		}
	}
}

func TestTextIndicesThatKeepWordsTestFilters(t *testing.T) {
	for details, want := range map[string]bool{
		`{}`:                                     false, // words are stemmed
		`{"stem":false,"max_token_length":null}`: true,
		`{"stem":false,"max_token_length":40}`:   false,
		`{"stem":false,"max_token_length":null,"base_tokenizer":"raw"}`:         false,
		`{"stem":false,"max_token_length":null,"lower_case":false,"x":"later"}`: true,
	} {
		if got := kinds.Of(indexmeta.Text).Filters.Usable(details); got != want {
			t.Errorf("index with %s: got %t, want %t", details, got, want)
		}
	}
}
