package ivf

import (
	"context"
	"errors"
	"iter"

	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/process/memory"
)

const (
	// batchBytes bounds the bytes of partitions that are read at a time.
	batchBytes = 32 << 20
	// readCost is the memory of a read as a multiple of its bytes: the response, the columns, and the
	// partitions.
	readCost = 3
	// pieceBytes is the size of a piece of a partition that does not fit into memory as a whole. Pieces
	// shrink if less memory is free, but below leastPiece only if there can never be more, and never below
	// pieceRows rows.
	pieceBytes, leastPiece, pieceRows = 8 << 20, 1 << 20, 64
)

// Read yields partitions in the given order. It reads the partitions that are not cached in one round of
// requests, or in several rounds of batchBytes. A partition that exceeds the memory of the request is
// yielded in pieces, if the quantizer can measure rows independently; its graph is then unused. A partition
// with a graph that exceeds three quarters of the cache is not read here, but by pages during the search. The memory
// of a partition is released when the caller requests the next one.
func (x *Index) Read(ctx context.Context, numbers []int) iter.Seq2[*Partition, error] {
	return func(yield func(*Partition, error) bool) {
		for len(numbers) > 0 {
			n, more, err := x.readSome(ctx, numbers, yield)
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
			numbers = numbers[n:]
		}
	}
}

// readSome yields the first n partitions, as many as memory permits at once. more is false if yield
// returned false.
func (x *Index) readSome(ctx context.Context, numbers []int, yield func(*Partition, error) bool) (n int, more bool, err error) {
	if x.graphs != nil && x.isNarrow(numbers[0]) {
		p, err := x.openPaged(ctx, numbers[0])
		return 1, err == nil && yield(p, nil), err
	}
	bytes := int64(0)
	for ; n < len(numbers) && !(x.graphs != nil && x.isNarrow(numbers[n])) && (n == 0 || bytes+x.size(numbers[n]) <= batchBytes); n++ {
		bytes += x.size(numbers[n])
	}
	for ; ; n = (n + 1) / 2 {
		have, missing, err := x.kept(numbers[:n])
		if err != nil {
			return 0, false, err
		}
		room, free := x.room(ctx, missing)
		switch {
		case free:
		case n > 1:
			continue
		case quantize.ByRow(x.quantizer):
			more, err = x.readPieces(ctx, numbers[0], yield)
			return 1, more, err
		default: // wait for the least memory that a read needs
			if room, err = memory.FromContext(ctx).Part(ctx, x.size(numbers[0])); err != nil {
				return 0, false, err
			}
		}
		defer room.Close()
		more, err = x.readMissing(memory.WithShare(ctx, room), numbers[:n], have, missing, yield)
		return n, more, err
	}
}

// room reserves the memory for reading partitions, and reports whether it was free.
func (x *Index) room(ctx context.Context, numbers []int) (room *memory.Share, free bool) {
	if len(numbers) == 0 {
		_, room, err := memory.Within(ctx)
		return room, err == nil
	}
	bytes := int64(0)
	for _, number := range numbers {
		bytes += x.size(number)
	}
	return memory.FromContext(ctx).TryPart(readCost * bytes)
}

// kept returns the cached partitions, and the numbers of the others.
func (x *Index) kept(numbers []int) (have map[int]*Partition, missing []int, err error) {
	have = make(map[int]*Partition, len(numbers))
	for _, number := range numbers {
		kept, err := x.files.Keep(partName(number), func() (any, int64, error) { return nil, 0, errNotKept })
		switch {
		case errors.Is(err, errNotKept):
			missing = append(missing, number)
		case err != nil:
			return nil, nil, err
		default:
			have[number] = kept.(*Partition)
		}
	}
	return have, missing, nil
}

// readMissing reads the missing partitions, caches them, and yields all.
func (x *Index) readMissing(ctx context.Context, numbers []int, have map[int]*Partition, missing []int, yield func(*Partition, error) bool) (more bool, err error) {
	if len(missing) > 0 {
		read, err := x.read(ctx, missing)
		if err != nil {
			return false, err
		}
		for _, p := range read {
			have[p.Number] = p
			if p.graph != nil {
				x.keepPages(p)
			} else if _, err := x.files.Keep(partName(p.Number), func() (any, int64, error) { return p, p.bytes(), nil }); err != nil {
				return false, err
			}
		}
	}
	for _, number := range numbers {
		if !yield(have[number], nil) {
			return false, nil
		}
	}
	return true, nil
}

// readPieces yields a partition in pieces, which are not cached.
func (x *Index) readPieces(ctx context.Context, number int, yield func(*Partition, error) bool) (more bool, err error) {
	all := x.span(number)
	each := max(min(pieceBytes/x.rowBytes(), all.count), pieceRows)
	room, err := x.pieceRoom(ctx, each)
	for ; err != nil; room, err = x.pieceRoom(ctx, each) {
		if !memory.TooMuch(err) || each == pieceRows {
			return false, err
		}
		each = max(each/2, pieceRows)
	}
	defer room.Close()
	ctx = memory.WithShare(ctx, room)
	for from := int64(0); from < all.count; from += each {
		count := min(each, all.count-from)
		held, err := memory.Take(ctx, count*x.rowBytes())
		if err != nil {
			return false, err
		}
		p, err := x.readPiece(ctx, number, from, count)
		if err != nil {
			return false, err
		}
		if !yield(p, nil) {
			return false, nil
		}
		held.Release()
	}
	return true, nil
}

// pieceRoom reserves the memory for reading some rows. On the error of memory.TooMuch the caller tries
// fewer rows.
func (x *Index) pieceRoom(ctx context.Context, rows int64) (*memory.Share, error) {
	share, bytes := memory.FromContext(ctx), rows*x.rowBytes()
	if room, free := share.TryPart(readCost * bytes); free {
		return room, nil
	}
	if bytes > leastPiece {
		return nil, &memory.Error{Bytes: readCost * bytes}
	}
	return share.Part(ctx, 2*readCost*bytes) // so that reading may take more than usual
}

// readPiece reads rows of a partition. The caller has reserved their memory.
func (x *Index) readPiece(ctx context.Context, number int, from, count int64) (*Partition, error) {
	start := x.span(number).from + from
	columns, err := x.readRows(ctx, []encoding.RowRange{{From: int(start), To: int(start + count)}})
	if err != nil {
		return nil, err
	}
	p := x.cut(number, columns, 0, int(count))
	p.From = int(from)
	return p, nil
}
