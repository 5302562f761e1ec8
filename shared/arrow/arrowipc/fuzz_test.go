package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// fuzzLimits admit all fixtures, and keep the cost of a hostile stream small.
var fuzzLimits = Limits{MaxMessageBytes: 4 << 20, MaxDecodedBytes: 4 << 20, MaxMetadataBytes: 1 << 20}

// consume reads a stream of any kind to its end, and visits all values of accepted batches. It fails if
// they violate the guarantees of the Reader.
func consume(t *testing.T, r io.Reader) (accepted bool) {
	t.Helper()
	schema, batches, err := readAll(r, fuzzLimits)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Kind == nil {
			t.Fatalf("got %v, want an *Error", err)
		}
		return false
	}
	for _, batch := range batches {
		if err := array.ValidateRecordFull(batch); err != nil {
			t.Fatalf("accepted an invalid batch: %v", err)
		}
		for i, column := range batch.Columns() {
			if !arrow.TypeEqual(column.DataType(), schema.Field(i).Type) || int64(column.Len()) != batch.NumRows() {
				t.Fatalf("column %d: got %d values of %v", i, column.Len(), column.DataType())
			}
			visit(column)
		}
	}
	return true
}

// visit touches values, all of them but for a few that are printed.
func visit(column arrow.Array) {
	for i := range min(column.Len(), 50) {
		_ = column.ValueStr(i)
	}
	if d, ok := column.(*array.Dictionary); ok && d.Dictionary().Len() > 0 {
		for i := range d.Len() {
			_ = d.Dictionary().IsNull(d.GetValueIndex(i)) // of null rows too
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		consume(t, bytes.NewReader(data))
	})
}

// TestMutatedStreams reads streams that were damaged at random. ARROWIPC_MUTATIONS sets
// their number, for longer runs under ulimit -v.
func TestMutatedStreams(t *testing.T) {
	rounds := 25_000
	if s := os.Getenv("ARROWIPC_MUTATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	if testing.Short() {
		rounds = 2_000
	}
	streams := fixtures(t)
	names := slices.Sorted(maps.Keys(streams))
	random := rand.New(rand.NewPCG(20, 24))
	accepted := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&after)
	for round := range rounds {
		name := names[random.IntN(len(names))]
		data := mutate(random, streams[name], streams[names[random.IntN(len(names))]])
		var input io.Reader = bytes.NewReader(data)
		if round%2 == 0 {
			input = struct{ io.Reader }{input} // like a socket, whose remaining length is unknown
		}
		before = after
		if consume(t, input) {
			accepted++
		}
		runtime.ReadMemStats(&after)
		// The maximal allocation of one stream: the claims of truncated messages, a decoder, the budget,
		// and a small amount per byte.
		most := uint64(firstRead + 4<<20 + fuzzLimits.MaxDecodedBytes + 200*int64(len(data)))
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Fatalf("round %d, from %s: %d bytes allocated for a stream of %d", round, name, used, len(data))
		}
	}
	t.Logf("%d of %d damaged streams were accepted", accepted, rounds)
}

// mutate returns a damaged copy of data. Damage keeps close to the beginning of messages
// half of the time, where the lengths are.
func mutate(random *rand.Rand, data, other []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + random.IntN(4) {
		if len(data) < 16 {
			return data
		}
		at := random.IntN(len(data) - 8)
		if random.IntN(2) == 0 {
			at = random.IntN(min(len(data)-8, 4096))
		}
		switch random.IntN(8) {
		case 0:
			data[at] ^= 1 << random.IntN(8)
		case 1:
			data[at] = byte(random.Uint32())
		case 2:
			binary.LittleEndian.PutUint32(data[at&^3:], uint32(interesting(random, len(data))))
		case 3:
			binary.LittleEndian.PutUint64(data[at&^7:], uint64(interesting(random, len(data))))
		case 4:
			data = data[:at]
		case 5:
			data = slices.Delete(data, at, at+random.IntN(8))
		case 6:
			from := random.IntN(len(data))
			data = slices.Insert(data, at, data[from:min(len(data), from+random.IntN(64))]...)
		case 7:
			from := random.IntN(len(other))
			copy(data[at:], other[from:min(len(other), from+random.IntN(256))])
		}
	}
	return data
}

// interesting returns a number at which lengths and offsets go wrong.
func interesting(random *rand.Rand, size int) int64 {
	numbers := []int64{0, 1, -1, -2, 7, 8, 255, 1 << 15, 1<<31 - 1, -1 << 31, 1 << 32, 1<<63 - 1, -1 << 63,
		int64(size), int64(random.IntN(size)), -int64(random.IntN(size)), random.Int64N(256)}
	return numbers[random.IntN(len(numbers))]
}
