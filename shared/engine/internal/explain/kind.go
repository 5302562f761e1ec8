package explain

// A Kind is the operation of a step.
type Kind uint8

// The kinds of steps.
const (
	Scan        Kind = iota // reads columns of a table, or of a part of it
	Take                    // reads columns of rows at known addresses
	Filter                  // reads columns of found rows and keeps those rows that pass a filter
	Sort                    // orders rows
	Nearest                 // finds the rows nearest to vectors
	SearchIndex             // finds the rows nearest to vectors by an index
	MatchText               // finds the rows that contain words
	Fuse                    // joins the rows that two searches have found, by their ranks
	Project                 // computes the columns of the answer
)

// kinds describes each kind: its name in a plan, the equivalent operators in a plan of native
// Lance, and whether it reads from the storage. Older native Lance has LanceScan instead of
// LanceRead.
var kinds = [...]struct {
	name   string
	native []string
	reads  bool
}{
	Scan:        {"Scan", []string{"LanceRead", "LanceScan"}, true},
	Take:        {"Take", []string{"LanceRead"}, true},
	Filter:      {"Filter", []string{"FilterExec"}, true},
	Sort:        {"Sort", []string{"SortExec"}, false},
	Nearest:     {"Nearest", []string{"SortExec", "TopK"}, false},
	SearchIndex: {"SearchIndex", []string{"ANNSubIndex", "ANNIvfPartition"}, true},
	MatchText:   {"MatchText", nil, false},
	Fuse:        {"Fuse", nil, false},
	Project:     {"Project", []string{"ProjectionExec"}, false},
}
