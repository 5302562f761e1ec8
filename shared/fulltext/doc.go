// Package fulltext finds rows by the words in them, and says how well each fits, as native
// Lance does: with the same tokens and, but for rounding, the same scores.
//
// A text becomes terms in an [Analyzer]: it is cut into words, and these lose their case,
// their endings and their accents, or are dropped. What of that happens is in the [Params]
// of the index on the column. A column without an index has the [Plain] analyzer, which
// only cuts.
//
// A [Query] is a tree. Its leaves look for terms in a column and score a row by BM25; the
// nodes above choose and combine. [NewSearch] makes it ready. BM25 has to know how many
// documents there are, how long they are and how many hold each term, so nothing can be
// scored before all is counted:
//
//	search, _ := fulltext.NewSearch(query, fields)
//	tally := search.NewTally()            // one for each goroutine
//	tally.Add(address, documents, …)      // each row: its documents, in the order of search.Columns
//	total.Merge(tally)                    // of all rows
//	scorer := search.Scorer(total)
//	score, ok := scorer.Score(tally.Row(0)) // of the row tally.Addresses[0]
//
// Documents come in two kinds. Those that the index covers are scored by what is known of
// the covered ones, deleted ones among them, whatever filter there is. The others are
// scored by what is known of the covered ones and of those others that pass the filter.
// This package reads no index: both kinds are counted.
package fulltext
