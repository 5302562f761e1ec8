package snapshot

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/process/memory"
)

// Take returns the rows at the addresses in the given order; an address may repeat. It reads only
// these rows. The address of a missing or deleted row is an error. The context's memory budget
// covers the rows only during the read; use TakeEach for an unbounded number of rows.
func (s *Snapshot) Take(ctx context.Context, columns []string, addresses []uint64) (arrow.RecordBatch, error) {
	p, err := s.Project(columns)
	if err != nil {
		return nil, err
	}
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	// Read each row once, in address order, whatever the order and repetitions asked for.
	sorted := slices.Clone(addresses)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	batches, err := s.takeSorted(ctx, p, sorted)
	if err != nil {
		return nil, err
	}
	// Concatenation copies the rows.
	if len(batches) > 1 {
		if err := room.Take(ctx, room.Held()); err != nil {
			return nil, err
		}
	}
	all, err := take.Concat(p.schema, batches)
	if err != nil {
		return nil, err
	}
	for i, f := range p.schema.Fields() {
		if !arrow.TypeEqual(f.Type, all.Column(i).DataType()) {
			return nil, fmt.Errorf("%w: the rows have more items in column %s than %s can tell apart", lance.ErrUnsupported, f.Name, f.Type)
		}
	}
	if slices.Equal(sorted, addresses) {
		return all, nil
	}
	if err := takeRepeated(ctx, all, len(addresses)); err != nil {
		return nil, err
	}
	// Restore the requested order.
	order := make([]int32, len(addresses))
	for i, address := range addresses {
		at, _ := slices.BinarySearch(sorted, address)
		order[i] = int32(at)
	}
	return take.Batch(all, order)
}

// takeRepeated reserves memory for rows of a batch that may repeat.
func takeRepeated(ctx context.Context, batch arrow.RecordBatch, rows int) error {
	bytes := float64(sizeOf(batch)) / float64(max(batch.NumRows(), 1)) * float64(rows)
	return memory.FromContext(ctx).Take(ctx, int64(bytes))
}

// takenBytes is the approximate batch size of TakeEach.
const takenBytes = 4 * windowBytes

// TakeEach takes any number of rows, in batches of at most most rows, or fewer if the rows are
// wide. As in Scan, a batch is charged to the memory budget until the next one is requested.
func (s *Snapshot) TakeEach(ctx context.Context, columns []string, addresses []uint64, most int) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if bytes, err := s.ScanBytes(columns); err == nil && bytes > 0 && s.rows > 0 {
			most = int(min(int64(most), max(1, takenBytes/max(1, bytes/s.rows))))
		}
		share := memory.FromContext(ctx)
		for len(addresses) > 0 {
			part, err := share.Part(ctx, 0)
			if err != nil {
				yield(nil, err)
				return
			}
			n := min(most, len(addresses))
			batch, err := s.takePart(ctx, part, columns, addresses[:n])
			if n > 1 && memory.TooMuch(err) {
				part.Close()
				most = n / 2
				continue
			}
			more := yield(batch, err)
			part.Close()
			if !more || err != nil {
				return
			}
			addresses = addresses[n:]
		}
	}
}

// takePart takes rows and charges their memory to part.
func (s *Snapshot) takePart(ctx context.Context, part *memory.Share, columns []string, addresses []uint64) (arrow.RecordBatch, error) {
	if part == nil {
		return s.Take(ctx, columns, addresses)
	}
	batch, err := s.Take(memory.WithShare(ctx, part), columns, addresses)
	if err != nil {
		return nil, err
	}
	if err := part.Take(ctx, sizeOf(batch)); err != nil {
		return nil, err
	}
	part.Settle(part.Held())
	return batch, nil
}

// takeSorted returns one batch per fragment, read in parallel.
func (s *Snapshot) takeSorted(ctx context.Context, p *Projection, addresses []uint64) ([]arrow.RecordBatch, error) {
	var runs [][]uint64 // one per fragment
	for start := 0; start < len(addresses); {
		end := start
		for end < len(addresses) && addresses[end]>>32 == addresses[start]>>32 {
			end++
		}
		runs = append(runs, addresses[start:end])
		start = end
	}
	batches := make([]arrow.RecordBatch, len(runs))
	return batches, lance.Each(ctx, len(runs), MaxConcurrentReads, func(ctx context.Context, i int) (err error) {
		if batches[i], err = s.takeFragment(ctx, p, runs[i]); err != nil {
			return err
		}
		return memory.FromContext(ctx).Take(ctx, sizeOf(batches[i]))
	})
}

// takeFragment returns the rows of one fragment. addresses ascend without duplicates.
func (s *Snapshot) takeFragment(ctx context.Context, p *Projection, addresses []uint64) (arrow.RecordBatch, error) {
	id := addresses[0] >> 32
	f := s.Fragment(id)
	if f == nil {
		return nil, fmt.Errorf("no row at address %d: version %d has no fragment %d", addresses[0], s.Version(), id)
	}
	deleted, err := f.Deletions(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]int32, len(addresses))
	for i, address := range addresses {
		row := int64(uint32(address))
		if row >= f.Rows || deleted.Contains(uint32(row)) {
			return nil, fmt.Errorf("no row at address %d in version %d", address, s.Version())
		}
		rows[i] = int32(row)
	}
	whole := window{fragment: f, from: 0, to: f.Rows, offset: f.Before}
	if len(rows) == int(f.Rows) {
		rows = nil
	}
	return s.assembleTaken(ctx, whole, p, rows)
}

// assembleTaken assembles a batch from rows that are fetched one by one, however many they are.
func (s *Snapshot) assembleTaken(ctx context.Context, w window, p *Projection, rows []int32) (arrow.RecordBatch, error) {
	fields := p.fields()
	if rows == nil || len(fields) == 0 {
		return s.assemble(ctx, w, p, rows, nil)
	}
	physical := make([]int64, len(rows))
	for i, r := range rows {
		physical[i] = int64(r)
	}
	read, err := w.fragment.Read(ctx, fields, fragment.Selection{Single: physical})
	if err != nil {
		return nil, err
	}
	have := map[string]arrow.Array{}
	for _, c := range p.columns {
		if c.field != nil {
			have[c.name], read = c.of(read[0]), read[1:]
		}
	}
	return s.assemble(ctx, w, p, rows, have)
}
