package engine

import (
	"testing"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sqlexpr"
)

func TestWhatKindsOfIndicesAnswer(t *testing.T) {
	equal, unequal := sqlexpr.Probe{Test: sqlexpr.ProbeEqual}, sqlexpr.Probe{Test: sqlexpr.ProbeEqual, Not: true}
	null, notNull := sqlexpr.Probe{Test: sqlexpr.ProbeNull}, sqlexpr.Probe{Test: sqlexpr.ProbeNull, Not: true}
	below := sqlexpr.Probe{Test: sqlexpr.ProbeRange}
	begins, begins3 := sqlexpr.Probe{Test: sqlexpr.ProbePrefix, LongestWord: 2}, sqlexpr.Probe{Test: sqlexpr.ProbePrefix, LongestWord: 3}
	like3 := sqlexpr.Probe{Test: sqlexpr.ProbePattern, LongestWord: 3}
	has2, has3 := sqlexpr.Probe{Test: sqlexpr.ProbeContains, LongestWord: 2}, sqlexpr.Probe{Test: sqlexpr.ProbeContains, LongestWord: 3}
	hasNot := sqlexpr.Probe{Test: sqlexpr.ProbeContains, LongestWord: 3, Not: true}
	elements, words := sqlexpr.Probe{Test: sqlexpr.ProbeElements}, sqlexpr.Probe{Test: sqlexpr.ProbeTokens}
	all := []sqlexpr.Probe{equal, unequal, null, notNull, below, begins, begins3, like3, has2, has3, hasNot, elements, words}
	const no, some, yes = sqlexpr.ProbeOpen, sqlexpr.ProbeNarrows, sqlexpr.ProbeAnswers
	for kind, answers := range map[string][]sqlexpr.ProbeAnswer{
		//             equal, unequal, null, notNull, below, begins, begins3, like3, has2, has3, hasNot, elements, words
		"BTREE":       {yes, yes, yes, yes, yes, yes, yes, no, no, no, no, no, no},
		"BITMAP":      {yes, yes, yes, yes, yes, no, no, no, no, no, no, no, no},
		"ZONEMAP":     {yes, no, yes, yes, yes, yes, yes, no, no, no, no, no, no},
		"BLOOMFILTER": {yes, no, yes, no, no, no, no, no, no, no, no, no, no},
		"LABEL_LIST":  {no, no, no, no, no, no, no, no, no, no, no, yes, no},
		"NGRAM":       {no, no, no, no, no, no, some, some, no, yes, no, no, no},
		"FTS":         {no, no, no, no, no, no, no, no, no, no, no, no, yes},
		"IVF_PQ":      {no, no, no, no, no, no, no, no, no, no, no, no, no},
	} {
		x := &dataset.Index{Kind: dataset.IndexKind{Type: kind}}
		for i, probe := range all {
			if got := answerOf(x, probe); got != answers[i] {
				t.Errorf("%s asked %+v: got %d, want %d", kind, probe, got, answers[i])
			}
		}
	}
	if got := answerOf(nil, equal); got != no {
		t.Errorf("no index: got %d, want %d", got, no)
	}
}

func TestTextIndicesThatKnowValues(t *testing.T) {
	for details, want := range map[string]bool{
		`{}`:                                     false, // words are stemmed
		`{"stem":false,"max_token_length":null}`: true,
		`{"stem":false,"max_token_length":40}`:   false,
		`{"stem":false,"max_token_length":null,"base_tokenizer":"raw"}`:         false,
		`{"stem":false,"max_token_length":null,"lower_case":false,"x":"later"}`: true,
	} {
		if got := knowsValues(&dataset.Index{Kind: dataset.IndexKind{Type: "FTS", Details: details}}); got != want {
			t.Errorf("index with %s: got %t, want %t", details, got, want)
		}
	}
}

// Without an index that native Lance would ask, a fast scan is one of all rows.
func TestFastScanWithoutAnIndexFindsAll(t *testing.T) {
	table := points(t)
	for _, order := range [][]protocol.OrderBy{nil, {desc("id")}} {
		req := &protocol.QueryTableRequest{FastSearch: true, Filter: "id > 3", OrderBy: order, Columns: protocol.Projection{{Name: "id"}}}
		if got := show(t, table, req); len(got) != 6 {
			t.Errorf("got %v, want six rows", got)
		}
	}
	req := &protocol.QueryTableRequest{FastSearch: true, Filter: "nope > 3"}
	if _, err := table.Query(t.Context(), req); protocol.CodeOf(err) != protocol.TableColumnNotFound {
		t.Errorf("filter by what is not there: got error %v", err)
	}
}
