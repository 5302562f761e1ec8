package repdef

// A Node is the structure of the rows of a nested field: validity and offsets, without the
// children.
type Node struct {
	Len     int
	Valid   []byte  // validity bitmap; nil when nothing is null
	Nulls   int     // number of nulls
	Offsets []int32 // of lists and maps, Len+1, from 0; otherwise nil
}
