package fragment

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/dataset/cache"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/take"
)

// Lookups by an index, and searches that return or measure what an index has found, take single values of
// columns, each time other ones. Each costs about a request, and a request as much as the bytes of the
// store's read gap. So a column of a fragment is read whole and kept when the takes before have cost as
// much as that: all takes together then cost twice the least at most, however many follow. The first take
// never reads more than it needs.

const (
	// wholeBytes is how many bytes of a column are read whole at most from storage behind a network, so
	// that the request that reads them does not take long.
	wholeBytes = 32 << 20
	// wholeShare is the part of the largest entry of the cache that a column may take, by an estimate that
	// may be too small.
	wholeShare = 0.75
)

// A habit is an entry of the cache that counts how many rows of a column were taken one by one. A column
// that turned out to be too large has a number below 0 that no takes make up for.
type habit struct{ rows atomic.Int64 }

// tooLarge is that number.
const tooLarge = math.MinInt64 / 2

// takeWhole returns rows of a column of which all are in the cache, or are read into it now. It is nil if
// they should be taken one by one.
func (f *Fragment) takeWhole(ctx context.Context, file *File, field *schema.Field, rows []int64) (arrow.Array, error) {
	if file.base == nil || !mayKeepWhole(field) {
		return nil, nil
	}
	all := Selection{From: 0, To: f.Rows}
	whole, there := file.cached(field, all)
	if !there {
		var err error
		if whole, err = f.readHabit(ctx, file, field, all, len(rows)); whole == nil || err != nil {
			return nil, err
		}
	}
	positions := make([]int32, len(rows))
	for i, row := range rows {
		positions[i] = int32(row)
	}
	if err := memory.FromContext(ctx).Take(ctx, take.Bytes(whole, positions)); err != nil {
		return nil, err
	}
	return take.Array(whole, positions)
}

// mayKeepWhole reports whether a column is one of numbers, texts or vectors.
func mayKeepWhole(field *schema.Field) bool {
	if field.Described() != field { // blobs lie elsewhere
		return false
	}
	id := field.Type.ID()
	return id == arrow.FIXED_SIZE_LIST || arrow.IsPrimitive(id) || arrow.IsFixedSizeBinary(id) || arrow.IsBaseBinary(id)
}

// readHabit reads a column whole if the takes before this one of some rows have cost as much, and if there
// is room for it. Else it returns nil.
func (f *Fragment) readHabit(ctx context.Context, file *File, field *schema.Field, all Selection, rows int) (arrow.Array, error) {
	opened, err := file.open(ctx)
	if err != nil {
		return nil, err
	}
	width := opened.BytesPerRow([]*schema.Field{field})
	bytes, most := int64(width*float64(f.Rows)), file.cache.MaxEntry()
	if bytes == 0 || float64(bytes) > wholeShare*float64(most) || bytes > wholeBytes && !objectstore.Near(file.base.Store) {
		return nil, nil
	}
	part := file.runPart(field, all) + " taken"
	h, ok := cache.Get[*habit](file.cache, file.base.URI, part)
	if !ok {
		h = &habit{}
		cache.Put(file.cache, file.base.URI, part, h, 8)
	}
	taken := h.rows.Add(int64(rows)) - int64(rows)
	if taken < bytes/objectstore.ReadGap(file.base.Store) || taken <= 0 || !h.rows.CompareAndSwap(taken+int64(rows), 0) {
		return nil, nil // or another take reads it just now
	}
	// The bytes of the file and the values in memory.
	room, fits := memory.FromContext(ctx).TryPart(2 * bytes)
	if !fits {
		return nil, nil
	}
	if room != nil {
		room.Close()
	}
	read, err := file.read(ctx, f.Rows, []*schema.Field{field}, all)
	if err != nil {
		return nil, nil //nolint:nilerr // the rows may be readable one by one, and fail there if they are not
	}
	if int64(read[0].Data().SizeInBytes()) >= most {
		h.rows.Store(tooLarge)
	} else {
		file.keep(field, all, read[0])
	}
	return read[0], nil
}
