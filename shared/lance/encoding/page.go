package encoding

import "tiltyard/shared/lance/pb"

// A Page is one encoded page: its buffers and the message that describes them.
type Page struct {
	Encoding pb.Any
	Buffers  [][]byte // valid until the function that was given the page returns
	Rows     int      // below a fixed-size list of structs, or lists in 2.0: their items
	Priority uint64   // number of the first row (2.0: of the top-level row where it begins)
}

// NewPage returns a page of the given layout.
func NewPage(l pb.Layout, rows int, buffers ...[]byte) Page {
	return Page{
		Encoding: pb.Any{TypeURL: pb.TypePageLayout, Value: pb.MarshalLayout(l)},
		Buffers:  buffers,
		Rows:     rows,
	}
}

// PageBytes is the Arrow memory of a leaf that becomes one page. It equals the native writer's and
// is large enough for large requests.
const PageBytes = 8 << 20

// A PageInfo is the part of a page's entry in the column metadata that its reader needs.
type PageInfo struct {
	Sizes []int // of its buffers, in bytes
	Rows  int   // below a fixed-size list of structs: its items
	// Small is the size in bytes up to which the page is read whole while it is not known where its
	// rows are. That saves a round of requests.
	Small int
}

// A Fetch returns bytes [from, to) of buffer i of a page. If they have not been read, it returns
// nil and records them as wanted. The caller of the reader then reads all wanted bytes and tries
// again. A page is thus decoded in as many request rounds as it has dependent steps, and other
// pages share these rounds. An empty range is never nil. The result must not be changed.
type Fetch func(buffer int, from, to int) []byte

// A RowRange is rows [From, To) of a page or file.
type RowRange struct {
	From, To int
}

// CountRows returns the number of rows in the ranges.
func CountRows(rows []RowRange) int {
	n := 0
	for _, r := range rows {
		n += r.To - r.From
	}
	return n
}
