package engine

import (
	"context"
	"slices"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
)

// indexedOnly says in which fragments a fast search looks for the rows of its filter: those
// that all indices cover by which native Lance would answer some of the filter. When it would
// use none, it looks in all of them, and so does this, which returns nil.
func indexedOnly(ctx context.Context, d *dataset.Dataset, req *protocol.QueryTableRequest) (only func(fragment uint64) bool, names []string, err error) {
	if !req.FastSearch || req.Filter == "" {
		return nil, nil, nil
	}
	filter, err := bind(ctx, "filter", req.Filter, d, d.ScanSchema(), plan.BindFilter)
	if err != nil {
		return nil, nil, err
	}
	byColumn, err := scalarIndices(d)
	if err != nil {
		return nil, nil, err
	}
	indexOf := func(p plan.Probe) *dataset.Index { return byColumn[schema.FormatPath(p.Column...)] }
	var used []*dataset.Index
	for _, probe := range filter.Probes(func(p plan.Probe) plan.ProbeAnswer { return answerOf(indexOf(p), p) }) {
		if x := indexOf(probe); !slices.Contains(used, x) {
			used, names = append(used, x), append(names, x.Name)
		}
	}
	if used == nil {
		return nil, nil, nil
	}
	return func(fragment uint64) bool {
		return !slices.ContainsFunc(used, func(x *dataset.Index) bool { return !x.Covers(fragment) })
	}, names, nil
}

// inBoth says which fragments two choices have in common; nil is all of them.
func inBoth(a, b func(fragment uint64) bool) func(fragment uint64) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(fragment uint64) bool { return a(fragment) && b(fragment) }
}

// scalarIndices returns by column the indices that are asked about values: of several the
// oldest, which is the one that native Lance takes.
func scalarIndices(d *dataset.Dataset) (map[string]*dataset.Index, error) {
	all, err := d.Indices()
	if err != nil {
		return nil, err
	}
	byColumn := map[string]*dataset.Index{}
	for i := range all {
		x := &all[i]
		if len(x.Columns) != 1 || x.Indexed == 0 || !knowsValues(x) {
			continue
		}
		if path, err := schema.ParsePath(x.Columns[0]); err != nil || len(path) > 1 && !knowsMembers(x) {
			continue
		}
		if other := byColumn[x.Columns[0]]; other == nil || x.Created.Before(other.Created) {
			byColumn[x.Columns[0]] = x
		}
	}
	return byColumn, nil
}

// knowsValues says whether an index is of a kind that filters can be asked of. One for
// searches of words is when it has kept each word of a text.
func knowsValues(x *dataset.Index) bool {
	switch x.Kind.Type {
	case "BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER", "LABEL_LIST", "NGRAM":
		return true
	case "FTS":
		params, err := fulltext.ParseParams([]byte(x.Kind.Details))
		return err == nil && params.BaseTokenizer == "simple" && !params.Stem && params.MaxTokenLength == nil
	}
	return false
}

// knowsMembers says whether native Lance asks an index of its kind about members of structs.
func knowsMembers(x *dataset.Index) bool {
	return x.Kind.Type == "BTREE" || x.Kind.Type == "BITMAP" || x.Kind.Type == "ZONEMAP"
}

// shortestNgram is how many characters contains must ask an index of ngrams for.
const shortestNgram = 3

// answerOf says what an index, which may be nil, does for a test of its column.
func answerOf(x *dataset.Index, p plan.Probe) plan.ProbeAnswer {
	if x == nil {
		return plan.ProbeOpen
	}
	able := false
	switch exact := !p.Not; x.Kind.Type {
	case "BTREE":
		able = isValueTest(p) || p.Test == plan.ProbePrefix && exact
	case "BITMAP":
		able = isValueTest(p)
	case "ZONEMAP": // knows which zones may have a value, but not which have no other
		able = p.Test == plan.ProbeNull || exact && (isValueTest(p) || p.Test == plan.ProbePrefix)
	case "BLOOMFILTER":
		able = exact && (p.Test == plan.ProbeEqual || p.Test == plan.ProbeNull)
	case "LABEL_LIST":
		able = p.Test == plan.ProbeElements
	case "FTS":
		able = p.Test == plan.ProbeTokens
	case "NGRAM":
		able = exact && (p.Characters >= shortestNgram || p.Needs(fulltext.HasTrigram))
		if able && (p.Test == plan.ProbePrefix || p.Test == plan.ProbePattern) {
			return plan.ProbeNarrows
		}
	}
	if !able {
		return plan.ProbeOpen
	}
	return plan.ProbeAnswers
}

// isValueTest says whether a test is one of where a value is in the order of values.
func isValueTest(p plan.Probe) bool {
	return p.Test == plan.ProbeEqual || p.Test == plan.ProbeRange || p.Test == plan.ProbeNull
}
