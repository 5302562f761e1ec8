package explain

// A Kind is what a step does.
type Kind uint8

// The kinds of steps.
const (
	Scan        Kind = iota // reads columns of a table, or of a part of it
	Take                    // reads columns of rows that are known by their addresses
	Filter                  // reads columns of found rows and keeps those that pass a filter
	Sort                    // orders rows
	Nearest                 // finds the rows that are nearest to vectors
	SearchIndex             // finds the rows that an index says are nearest to vectors
	MatchText               // finds the rows that contain words
	Project                 // computes the columns of the answer
)

// kinds has a row for each kind: its name in a plan, the operators that do it in a plan of native Lance,
// and whether it reads from the storage. Older native Lance has LanceScan for LanceRead.
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
	Project:     {"Project", []string{"ProjectionExec"}, false},
}
