package arrowipc

// Limits bounds the cost of one stream. A zero field selects its default.
type Limits struct {
	// MaxMessageBytes bounds the received body of one message, compressed or not. Default 256 MiB.
	MaxMessageBytes int64
	// MaxDecodedBytes bounds the memory of one batch: its body, its decompressed buffers, and the
	// dictionaries that the stream has defined so far. Default 1 GiB.
	MaxDecodedBytes int64
	// MaxMetadataBytes bounds the flatbuffer of one message. Default 16 MiB.
	MaxMetadataBytes int64
	// MaxColumns bounds the top-level columns; the total number of fields, including nested ones, may be
	// fieldsPerColumn times that. Default 4,096.
	MaxColumns int
	// MaxDepth bounds the nesting of fields; an integer column has depth 1, a list of integers 2. Default
	// 32.
	MaxDepth int
}

const (
	fieldsPerColumn = 4

	// maxUnbackedRows bounds the rows of a whole stream that have no bytes, not even a bit:
	// rows of null columns, or of no columns. Otherwise a message of 200 bytes could claim
	// 2^63 rows, which the caller would have to visit.
	maxUnbackedRows = 1 << 24

	// maxLength bounds the length of any array, so that sums with it cannot overflow. No
	// array with bytes comes close to it.
	maxLength = 1 << 48
)

func (l Limits) withDefaults() Limits {
	l.MaxMessageBytes = positive(l.MaxMessageBytes, 256<<20)
	l.MaxDecodedBytes = positive(l.MaxDecodedBytes, 1<<30)
	l.MaxMetadataBytes = positive(l.MaxMetadataBytes, 16<<20)
	l.MaxColumns = positive(l.MaxColumns, 4096)
	l.MaxDepth = positive(l.MaxDepth, 32)
	return l
}

func positive[T int | int64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}
