package ivf

import (
	"context"
	"errors"
	"iter"

	"tiltyard/shared/index/quantize"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/memory"
)

const (
	// batchBytes is how much of partitions is read at a time.
	batchBytes = 32 << 20
	// readCost is how many times that a read holds: what the store answered, the columns, and the partitions.
	readCost = 3
	// pieceBytes is how much of a partition is read at a time when all of it is too much. When less memory is
	// free it is less, but only where there is never more is it less than leastPiece: pieceRows at least.
	pieceBytes, leastPiece, pieceRows = 8 << 20, 1 << 20, 64
)

// Read yields partitions in the given order. It reads those that are not kept in one round of requests,
// or in several when they are large together. A partition that is too large for the memory that the request
// may hold comes in pieces, if its rows can be measured without each other; then its graph is not used. The
// share of the context holds their memory until the caller asks for what comes after them.
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

// readSome yields the first n partitions, as many as memory allows to hold together. more is false when the
// caller of yield wants no more.
func (x *Index) readSome(ctx context.Context, numbers []int, yield func(*Partition, error) bool) (n int, more bool, err error) {
	bytes := int64(0)
	for ; n < len(numbers) && (n == 0 || bytes+x.size(numbers[n]) <= batchBytes); n++ {
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
		default: // wait for what there must be
			if room, err = memory.FromContext(ctx).Part(ctx, x.size(numbers[0])); err != nil {
				return 0, false, err
			}
		}
		defer room.Close()
		more, err = x.readMissing(memory.WithShare(ctx, room), numbers[:n], have, missing, yield)
		return n, more, err
	}
}

// room takes the memory in which partitions are read, and reports whether it was free.
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

// kept finds partitions that are kept, and returns the numbers of the others.
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

// readMissing reads the partitions that are missing, keeps them, and yields all.
func (x *Index) readMissing(ctx context.Context, numbers []int, have map[int]*Partition, missing []int, yield func(*Partition, error) bool) (more bool, err error) {
	if len(missing) > 0 {
		read, err := x.read(ctx, missing)
		if err != nil {
			return false, err
		}
		for _, p := range read {
			have[p.Number] = p
			if _, err := x.files.Keep(partName(p.Number), func() (any, int64, error) { return p, p.bytes(), nil }); err != nil {
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

// readPieces yields a partition in pieces. None of them is kept.
func (x *Index) readPieces(ctx context.Context, number int, yield func(*Partition, error) bool) (more bool, err error) {
	all := x.rows[number]
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

// pieceRoom takes the memory in which some rows are read. The error of memory.TooMuch asks for fewer rows.
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

// readPiece reads rows of a partition. The caller holds memory for them.
func (x *Index) readPiece(ctx context.Context, number int, from, count int64) (*Partition, error) {
	start := x.rows[number].from + from
	columns, err := x.readRows(ctx, []encoding.RowRange{{From: int(start), To: int(start + count)}})
	if err != nil {
		return nil, err
	}
	p := x.cut(number, columns, 0, int(count))
	p.From = int(from)
	return p, nil
}
