// Package fulltext finds rows by their words and scores them with BM25. Tokens equal those of native Lance,
// and scores are equal except for rounding.
//
// An [Analyzer] turns a text into terms: it cuts the text into words, then lowercases, stems, or drops
// them, and folds their accents. The [Params] of the index on the column select these steps. A column
// without an index has the [Plain] analyzer, which only cuts the text. For example, with the parameters of
// an index that stems English, "The runners ran" becomes the terms "runner" and "ran", since "the" is a
// stop word.
//
// A [Query] is a tree. Its leaves search for terms in a column and score a row with BM25; the inner nodes
// select and combine rows. [NewSearch] prepares it. BM25 depends on the number of documents, their average
// length and the document frequency of each term, so all rows must be counted before the first is scored:
//
//	search, _ := fulltext.NewSearch(query, fields)
//	tally := search.NewTally()            // one for each goroutine
//	tally.Add(address, documents, …)      // each row: its documents, in the order of search.Columns
//	total.Merge(tally)                    // of all rows
//	scorer := search.Scorer(total)
//	score, ok := scorer.Score(tally.Row(0)) // of the row tally.Addresses[0]
//
// A worked example: the query "red car" on 1,000 documents of 50 terms on average, where 100 documents
// contain "red" and 10 contain "car". The inverse document frequencies are ln(1 + 900.5/100.5) = 2.30 and
// ln(1 + 990.5/10.5) = 4.56. In a document of average length that contains each term once, the factor of
// the frequency is (k1 + 1)/(1 + k1) = 1 with k1 = 1.2, so the score is 2.30 + 4.56 = 6.86.
//
// There are two kinds of documents. The score of a document that the index covers depends on all documents
// that the index covers, including deleted ones, whatever the filter. The score of any other document
// depends on these and on the other documents that pass the filter. This package reads no index: the caller
// passes documents of both kinds.
package fulltext
