// Package fulltext finds rows by the words in them and scores them as native Lance does:
// with the same tokens and, except for rounding, the same scores.
//
// An [Analyzer] makes terms of a text: it cuts the text into words, and changes them to
// lower case, stems them, folds their accents or drops them. The [Params] of the index on
// the column select these steps. A column without an index has the [Plain] analyzer, which
// only cuts. For example, with the parameters of an index that stems English, "The runners
// ran" becomes the terms "runner" and "ran", since "the" is a stop word.
//
// A [Query] is a tree. Its leaves look for terms in a column and score a row by BM25; the
// inner nodes select and combine rows. [NewSearch] prepares it. BM25 depends on the number
// of documents, their lengths and the number of documents that hold each term, so all rows
// must be counted before the first is scored:
//
//	search, _ := fulltext.NewSearch(query, fields)
//	tally := search.NewTally()            // one for each goroutine
//	tally.Add(address, documents, …)      // each row: its documents, in the order of search.Columns
//	total.Merge(tally)                    // of all rows
//	scorer := search.Scorer(total)
//	score, ok := scorer.Score(tally.Row(0)) // of the row tally.Addresses[0]
//
// There are two kinds of documents. The score of a document that the index covers depends
// on all documents that the index covers, including deleted ones, whatever the filter. The
// score of any other document depends on these and on the other documents that pass the
// filter. This package reads no index: the caller passes documents of both kinds.
package fulltext
