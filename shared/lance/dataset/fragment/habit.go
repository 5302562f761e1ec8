package fragment

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/internal/cache"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// Index lookups and vector searches fetch scattered single values of a column, other ones each
// time. Each fetch costs about one request, and a request costs as much as the store's read gap in
// bytes. So once the single fetches of a fragment's column have cost as much as reading it whole,
// the column is read whole and cached. The total cost is then at most twice the minimum, however
// many fetches follow. The first fetch never reads more than it needs.

const (
	// wholeBytes bounds the bytes of a column that is read whole from remote storage, so that the
	// fetch that triggers it is not delayed for long.
	wholeBytes = 32 << 20
	// wholeShare is the fraction of the cache's largest entry size that a column may take. The
	// estimate of its size may be too low.
	wholeShare = 0.75
)

// A habit is a cache entry that counts single-row fetches of a column. A column that proved too
// large has a count so negative that no fetches make up for it.
type habit struct{ rows atomic.Int64 }

// tooLarge is the count of a column that proved too large.
const tooLarge = math.MinInt64 / 2

// takeWhole returns rows of a column that is cached whole, or reads it whole now. It returns nil if
// the rows should be fetched one by one.
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

// mayKeepWhole reports whether a column holds numbers, strings, binaries or vectors.
func mayKeepWhole(field *schema.Field) bool {
	if field.Described() != field { // blob bytes lie elsewhere
		return false
	}
	id := field.Type.ID()
	return id == arrow.FIXED_SIZE_LIST || arrow.IsPrimitive(id) || arrow.IsFixedSizeBinary(id) || arrow.IsBaseBinary(id)
}

// readHabit reads a column whole if earlier fetches have cost as much and memory allows. Otherwise
// it returns nil.
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
		return nil, nil // or a concurrent fetch is reading it
	}
	// the bytes of the file and the decoded values
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
