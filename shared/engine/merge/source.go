package merge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/scratch"
	"tiltyard/shared/protocol"
)

const (
	// sourceBatchBytes is the target size of a source batch: smaller batches are joined, and larger
	// ones are divided.
	sourceBatchBytes = 16 << 20
	// sourceBatchRows is the maximum number of rows in a batch. It bounds the lists with an entry per
	// row.
	sourceBatchRows = 512 << 10
	// maxSourceRows is the maximum number of rows in a source, because row numbers are int32.
	maxSourceRows = 1<<31 - 1
)

// A Source stores the new rows of a merge, which reads them more than once. The first rows stay in
// memory, if it is available, and the rest is in a file in the scratch directory. The file has no
// name, so the operating system removes it when the process ends.
type Source struct {
	schema  *arrow.Schema
	match   *schema.Match // to the version for which the merge is planned
	rows    int
	most    int64        // maximum bytes in memory
	room    memory.Spare // the memory of held and pending
	held    []arrow.RecordBatch
	file    *os.File // nil if all rows are in memory
	writer  *ipc.Writer
	size    int64 // size of the file
	largest int64 // size in memory of the largest batch in the file

	pending []arrow.RecordBatch // batches to be joined
	waiting int64               // size of pending; room has taken twice as much
}

// A sourceBatch is a batch of consecutive rows of a source.
type sourceBatch struct {
	arrow.RecordBatch
	match *schema.Match
	first int // number of the first row
}

// columns returns columns in the form of the table: structs have the table's order of members.
func (b sourceBatch) columns(names []string) ([]arrow.Array, error) {
	columns := make([]arrow.Array, len(names))
	for i, name := range names {
		var err error
		if columns[i], err = b.match.Column(name, b.RecordBatch); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// ReadSource reads the rows of a merge: up to maxBytes bytes in all, of which up to heldBytes stay
// in memory. The error is InvalidInput for more. The caller must close the source.
func ReadSource(ctx context.Context, rows dataset.Rows, maxBytes, heldBytes int64) (*Source, error) {
	s := &Source{schema: rows.Schema, most: heldBytes, room: memory.NewSpare(memory.FromContext(ctx))}
	err := s.read(rows.Batches, maxBytes)
	if err != nil {
		s.Close()
		return nil, scratchError(err)
	}
	return s, nil
}

func (s *Source) read(batches iter.Seq2[arrow.RecordBatch, error], maxBytes int64) error {
	total := int64(0)
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if s.rows += int(batch.NumRows()); s.rows > maxSourceRows {
			return tooLarge(fmt.Sprintf("has more than %d rows", maxSourceRows))
		}
		bytes := take.BatchBytes(batch)
		if total += bytes; total > maxBytes {
			return tooLarge(fmt.Sprintf("is larger than %d bytes", maxBytes))
		}
		if err := s.take(batch, bytes, total <= s.most); err != nil {
			return err
		}
	}
	err := s.flush(total <= s.most)
	s.room.Trim()
	if err != nil || s.writer == nil {
		return err
	}
	if err := s.writer.Close(); err != nil {
		return err
	}
	return s.measure()
}

// take adds a batch, which is valid until its producer makes the next one. If memory is short, this
// batch and all later ones are written to the file at once.
func (s *Source) take(batch arrow.RecordBatch, bytes int64, hold bool) error {
	if bytes >= s.batchBytes() || !s.room.Take(2*bytes) {
		if err := s.flush(hold); err != nil {
			return err
		}
		return s.add(batch, bytes, hold && s.room.Take(bytes))
	}
	s.pending, s.waiting = append(s.pending, batch), s.waiting+bytes
	if s.waiting >= s.batchBytes() {
		return s.flush(hold)
	}
	return nil
}

// batchBytes is the size at which pending batches are joined.
func (s *Source) batchBytes() int64 { return min(sourceBatchBytes, s.most) }

// flush joins the pending batches.
func (s *Source) flush(hold bool) error {
	if len(s.pending) == 0 {
		return nil
	}
	batch, err := take.Concat(s.schema, s.pending)
	if err != nil {
		return err
	}
	waiting := s.waiting
	s.pending, s.waiting = nil, 0
	s.room.Give(waiting)
	if hold = hold && s.writer == nil; !hold {
		s.room.Give(waiting)
	}
	return s.add(batch, waiting, hold)
}

// tooLarge is the error for a source beyond a limit.
func tooLarge(how string) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, TooLarge: true,
		Message: "the source of the merge " + how, Detail: "merge the rows in several requests",
	}
}

// add stores a batch of the given size. It stays in memory only if all earlier batches do.
func (s *Source) add(batch arrow.RecordBatch, bytes int64, hold bool) error {
	// Once a batch is in the file, all later ones follow, because the order must stay.
	hold = hold && s.writer == nil
	if !hold && s.writer == nil {
		var err error
		if s.file, err = scratch.File(); err != nil {
			return err
		}
		s.writer = ipc.NewWriter(s.file, ipc.WithSchema(s.schema))
	}
	rows := batch.NumRows()
	each := min(rows, sourceBatchRows)
	// A batch that is read back from the file must not be too large for memory.
	if !hold && bytes > s.batchBytes() {
		each = min(each, max(1, int64(float64(rows)*float64(s.batchBytes())/float64(bytes))))
	}
	for from := int64(0); from < rows; from += each {
		part := batch.NewSlice(from, min(from+each, rows))
		if hold {
			s.held = append(s.held, part)
			continue
		}
		if err := errors.Join(s.writer.Write(part), s.measure()); err != nil {
			return err
		}
	}
	return nil
}

// measure records the size of the file.
func (s *Source) measure() error {
	size, err := s.file.Seek(0, io.SeekCurrent)
	s.largest, s.size = max(s.largest, size-s.size), size
	return err
}

// batches returns the rows in order. The memory of rows from the file is charged to the context
// until the range ends.
func (s *Source) batches(ctx context.Context) iter.Seq2[sourceBatch, error] {
	return func(yield func(sourceBatch, error) bool) {
		first := 0
		for _, batch := range s.held {
			if !yield(sourceBatch{batch, s.match, first}, nil) {
				return
			}
			first += int(batch.NumRows())
		}
		if s.file != nil {
			s.readBack(ctx, first, yield)
		}
	}
}

// readBack yields the rows in the file. first is the number of the first one.
func (s *Source) readBack(ctx context.Context, first int, yield func(sourceBatch, error) bool) {
	room, err := memory.Take(ctx, 2*s.largest) // the consumer may still use the previous batch
	if err != nil {
		yield(sourceBatch{}, err)
		return
	}
	defer room.Release()
	reader, err := ipc.NewReader(io.NewSectionReader(s.file, 0, s.size))
	if err != nil {
		yield(sourceBatch{}, fmt.Errorf("read rows of a merge back: %w", err))
		return
	}
	for reader.Next() {
		if err := ctx.Err(); err != nil {
			yield(sourceBatch{}, err)
			return
		}
		batch := array.NewRecordBatch(s.schema, reader.RecordBatch().Columns(), reader.RecordBatch().NumRows())
		if !yield(sourceBatch{batch, s.match, first}, nil) {
			return
		}
		first += int(batch.NumRows())
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		yield(sourceBatch{}, fmt.Errorf("read rows of a merge back: %w", err))
	}
}

// describe returns the values of some columns in a row, for messages.
func (s *Source) describe(ctx context.Context, row int, columns []string) string {
	for batch, err := range s.batches(ctx) {
		if err != nil {
			break
		}
		if row < batch.first+int(batch.NumRows()) {
			return describeKey(batch.RecordBatch, columns, row-batch.first)
		}
	}
	return fmt.Sprintf("row %d", row)
}

// Close releases the file and the memory.
func (s *Source) Close() {
	s.room.Release()
	if s.file != nil {
		_ = s.file.Close() // the file is no longer needed
	}
}

// scratchError turns the error of a full scratch directory into InvalidInput: the request is too
// large.
func scratchError(err error) error {
	if scratch.Full(err) {
		return &protocol.Error{
			Code: protocol.InvalidInput, TooLarge: true, Err: err,
			Message: "the rows of the merge do not fit into the scratch directory", Detail: "merge the rows in several requests",
		}
	}
	return err
}
