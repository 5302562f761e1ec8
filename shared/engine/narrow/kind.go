package narrow

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/index/bitmap"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/btree"
	"tiltyard/shared/index/fm"
	"tiltyard/shared/index/labellist"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/index/words"
	"tiltyard/shared/index/zonemap"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/sql/pruning"
)

// A kind holds the facts about one kind of index. The first three are choices of native Lance,
// which a fast search has to follow even if the engine cannot read the kind yet.
type kind struct {
	// answers returns what native Lance leaves to an index of the kind: which probes of its column
	// it tests, and whether exactly.
	answers func(pruning.Probe) pruning.Answer
	// members reports whether native Lance uses the kind for members of structs.
	members bool
	// usable reports by the details of an index whether native Lance uses it for filters; nil:
	// always.
	usable func(details string) bool

	// reading is how the engine reads the files of the kind; nil if it cannot.
	reading *reading
}

// A reading is how the engine asks indices of one kind.
type reading struct {
	// tests reports whether an index can test what a probe tests in a column of type t.
	tests func(p pruning.Probe, t arrow.DataType) bool
	// question returns what the index is asked, to find the rows that pass all of several probes.
	question func(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (index.Question, error)
	// open opens a segment of an index of a column of type t.
	open func(ctx context.Context, files index.Files, t arrow.DataType) (index.Reader, error)
	// coarse is true if the index also finds rows that do not match, so that others are asked first.
	coarse bool
	// storesIDs reports whether segments with a version of the format store the stable row ids of a
	// table that has them, and not addresses.
	storesIDs func(version int32) bool
}

// kinds has a row for each kind of index that can test a part of a filter.
var kinds = map[indexmeta.Kind]kind{
	indexmeta.BTree: {members: true, answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(isValueTest(p) || p.Test == pruning.Prefix && !p.Not)
	}, reading: &reading{
		tests:     testsValues,
		question:  valueQuestion,
		open:      opener(btree.Open),
		storesIDs: func(version int32) bool { return version < btree.AddressVersion },
	}},
	indexmeta.Bitmap: {members: true, answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(isValueTest(p))
	}, reading: &reading{tests: testsValues, question: valueQuestion, open: opener(bitmap.Open), storesIDs: always}},
	// The index finds zones that may contain a value, and not those that contain no other value.
	indexmeta.ZoneMap: {members: true, answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(p.Test == pruning.Null || !p.Not && (isValueTest(p) || p.Test == pruning.Prefix))
	}, reading: &reading{tests: testsValues, question: valueQuestion, open: opener(zonemap.Open), storesIDs: never, coarse: true}},
	indexmeta.BloomFilter: {answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(!p.Not && (p.Test == pruning.Equal || p.Test == pruning.Null))
	}, reading: &reading{tests: testsHashes, question: valueQuestion, open: opener(bloomfilter.Open), storesIDs: never, coarse: true}},
	indexmeta.LabelList: {answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(p.Test == pruning.Elements)
	}, reading: &reading{tests: testsElements, question: elementsQuestion, open: opener(labellist.Open), storesIDs: always}},
	indexmeta.Text: {usable: keepsWords, answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(p.Test == pruning.Tokens)
	}, reading: &reading{tests: testsWords, question: wordsQuestion, open: opener(words.Open), storesIDs: always, coarse: true}},
	indexmeta.Ngram: {answers: ngramAnswers, reading: &reading{
		tests: testsTrigrams, question: trigramQuestion, open: opener(ngram.Open), storesIDs: always, coarse: true,
	}},
	indexmeta.FM: {answers: func(p pruning.Probe) pruning.Answer {
		return answersIf(p.Test == pruning.Contains)
	}, reading: &reading{tests: testsPatterns, question: patternQuestion, open: opener(fm.Open), storesIDs: never}},
}

// opener adapts the function that opens segments of a kind.
func opener[R index.Reader](open func(context.Context, index.Files, arrow.DataType) (R, error)) func(context.Context, index.Files, arrow.DataType) (index.Reader, error) {
	return func(ctx context.Context, files index.Files, t arrow.DataType) (index.Reader, error) {
		return open(ctx, files, t)
	}
}

// always is for kinds that store the stable row ids of tables that have them in all versions.
func always(int32) bool { return true }

// never is for kinds that store addresses in all versions.
func never(int32) bool { return false }

func answersIf(able bool) pruning.Answer {
	if able {
		return pruning.Answers
	}
	return pruning.Open
}

// isValueTest reports whether a probe compares with values in their order.
func isValueTest(p pruning.Probe) bool {
	return p.Test == pruning.Equal || p.Test == pruning.Range || p.Test == pruning.Null
}

// testsValues reports whether an index of values in their order can test what a probe tests.
func testsValues(p pruning.Probe, t arrow.DataType) bool {
	if constants := p.Type; constants != nil && !arrow.TypeEqual(constants, t) {
		return false
	}
	_, err := index.OrderOf(t)
	return err == nil && (p.Test != pruning.Prefix || t.ID() == arrow.STRING)
}

// testsHashes reports whether an index of the hashes of values can test what a probe tests.
func testsHashes(p pruning.Probe, t arrow.DataType) bool {
	return bloomfilter.IsHashed(t) && testsValues(p, t)
}

// testsElements reports whether an index of the elements of lists can test what a probe tests.
func testsElements(p pruning.Probe, t arrow.DataType) bool {
	elements := labellist.ElementType(t)
	if elements == nil || !arrow.TypeEqual(p.Type, elements) {
		return false
	}
	_, err := index.OrderOf(elements)
	return err == nil
}

// keepsWords reports whether an index for word searches keeps each word of a text.
func keepsWords(details string) bool {
	params, err := fulltext.ParseParams([]byte(details))
	return err == nil && params.BaseTokenizer == "simple" && !params.Stem && params.MaxTokenLength == nil
}

// shortestNgram is the length in characters from which native Lance uses an ngram index for
// contains.
const shortestNgram = 3

func ngramAnswers(p pruning.Probe) pruning.Answer {
	switch {
	case p.Not, p.Test == pruning.Tokens, p.Test == pruning.Contains && utf8.RuneCountInString(p.Text) < shortestNgram:
		return pruning.Open
	case p.Test != pruning.Contains && p.Need(fulltext.Trigrams) == nil:
		return pruning.Open
	case p.Test == pruning.Prefix || p.Test == pruning.Pattern:
		return pruning.Narrows
	}
	return pruning.Answers
}

// answerOf returns what native Lance leaves to an index of a filter with a probe of its column. The
// index may be nil.
func answerOf(x *snapshot.Index, p pruning.Probe) pruning.Answer {
	if x == nil || kinds[x.Kind.Of].answers == nil {
		return pruning.Open
	}
	return kinds[x.Kind.Of].answers(p)
}

// isUsed reports whether native Lance uses an index for filters.
func isUsed(x *snapshot.Index) bool {
	k := kinds[x.Kind.Of]
	return k.answers != nil && (k.usable == nil || k.usable(x.Kind.Details))
}

// isRead reports whether the engine can use an index for filters.
func isRead(x *snapshot.Index) bool { return isUsed(x) && kinds[x.Kind.Of].reading != nil }

// scalarIndices returns the indices that able accepts and that cover rows, by column. If a column
// has several, it returns the oldest, which native Lance uses.
func scalarIndices(d *dataset.Dataset, able func(*snapshot.Index) bool) (map[string]*snapshot.Index, error) {
	all, err := d.Indices()
	if err != nil {
		return nil, err
	}
	byColumn := map[string]*snapshot.Index{}
	for i := range all {
		x := &all[i]
		if len(x.Columns) != 1 || x.Indexed == 0 || !able(x) {
			continue
		}
		if path, err := schema.ParsePath(x.Columns[0]); err != nil || len(path) > 1 && !kinds[x.Kind.Of].members {
			continue
		}
		if other := byColumn[x.Columns[0]]; other == nil || x.Created.Before(other.Created) {
			byColumn[x.Columns[0]] = x
		}
	}
	return byColumn, nil
}
