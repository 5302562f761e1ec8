package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/gather"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
)

const (
	// sourceBatchBytes is how much of a source makes one batch, as a rule: batches that came
	// smaller are put together, and larger ones are divided.
	sourceBatchBytes = 16 << 20
	// sourceBatchRows is how many rows a batch has at most: each takes some bytes of lists.
	sourceBatchRows = 512 << 10
	// maxSourceRows is where row numbers end.
	maxSourceRows = 1<<31 - 1
)

// A mergeSource is the rows that a merge brings. They are read more than once, so the first
// of them are held in memory, if that is to spare, and what is too much for that waits in a file
// in the scratch directory. The file has no name: whatever happens to the process, the system
// removes it.
type mergeSource struct {
	schema  *arrow.Schema
	rows    int
	most    int64 // bytes to hold
	room    spare // that holds them
	held    []arrow.RecordBatch
	file    *os.File // nil while all is held
	writer  *ipc.Writer
	size    int64 // of the file
	largest int64 // bytes of a batch in the file

	pending []arrow.RecordBatch // to be put together
	waiting int64               // bytes of those, for which room has twice as much
}

// A sourceBatch is consecutive rows of a source.
type sourceBatch struct {
	arrow.RecordBatch
	first int // number of the first row
}

// readSource reads the rows of a merge. They may be so many bytes, of which so many are
// held; the caller closes the source.
func readSource(ctx context.Context, rows dataset.Rows, maxBytes, heldBytes int64) (*mergeSource, error) {
	s := &mergeSource{schema: rows.Schema, most: heldBytes, room: spare{share: memory.FromContext(ctx)}}
	err := s.read(rows.Batches, maxBytes)
	if err != nil {
		s.close()
		return nil, scratchError(err)
	}
	return s, nil
}

func (s *mergeSource) read(batches iter.Seq2[arrow.RecordBatch, error], maxBytes int64) error {
	total := int64(0)
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if s.rows += int(batch.NumRows()); s.rows > maxSourceRows {
			return tooLarge(fmt.Sprintf("has more than %d rows", maxSourceRows))
		}
		bytes := batchBytes(batch)
		if total += bytes; total > maxBytes {
			return tooLarge(fmt.Sprintf("is larger than %d bytes", maxBytes))
		}
		if err := s.take(batch, bytes, total <= s.most); err != nil {
			return err
		}
	}
	err := s.flush(total <= s.most)
	s.room.trim()
	if err != nil || s.writer == nil {
		return err
	}
	if err := s.writer.Close(); err != nil {
		return err
	}
	return s.measure()
}

// take takes a batch, which whoever made it holds until the next one. One for which there is no
// room goes to the file at once, and so do all after it.
func (s *mergeSource) take(batch arrow.RecordBatch, bytes int64, hold bool) error {
	if bytes >= s.batchBytes() || !s.room.take(2*bytes) {
		if err := s.flush(hold); err != nil {
			return err
		}
		return s.add(batch, bytes, hold && s.room.take(bytes))
	}
	s.pending, s.waiting = append(s.pending, batch), s.waiting+bytes
	if s.waiting >= s.batchBytes() {
		return s.flush(hold)
	}
	return nil
}

// batchBytes is how much makes a batch.
func (s *mergeSource) batchBytes() int64 { return min(sourceBatchBytes, s.most) }

// flush puts the pending batches together.
func (s *mergeSource) flush(hold bool) error {
	if len(s.pending) == 0 {
		return nil
	}
	batch, err := gather.Concat(s.schema, s.pending)
	if err != nil {
		return err
	}
	waiting := s.waiting
	s.pending, s.waiting = nil, 0
	s.room.give(waiting)
	if hold = hold && s.writer == nil; !hold {
		s.room.give(waiting)
	}
	return s.add(batch, waiting, hold)
}

func tooLarge(how string) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, TooLarge: true,
		Message: "the source of the merge " + how, Detail: "merge the rows in several requests",
	}
}

// add keeps a batch of so many bytes, in memory only if all before it are there.
func (s *mergeSource) add(batch arrow.RecordBatch, bytes int64, hold bool) error {
	hold = hold && s.writer == nil
	if !hold && s.writer == nil {
		var err error
		if s.file, err = scratchFile(); err != nil {
			return err
		}
		s.writer = ipc.NewWriter(s.file, ipc.WithSchema(s.schema))
	}
	rows := batch.NumRows()
	each := min(rows, sourceBatchRows)
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

// measure notes how large the file has become.
func (s *mergeSource) measure() error {
	size, err := s.file.Seek(0, io.SeekCurrent)
	s.largest, s.size = max(s.largest, size-s.size), size
	return err
}

// batches returns the rows in order. What is read of the file is counted in the share of the
// context until it ends.
func (s *mergeSource) batches(ctx context.Context) iter.Seq2[sourceBatch, error] {
	return func(yield func(sourceBatch, error) bool) {
		first := 0
		for _, batch := range s.held {
			if !yield(sourceBatch{batch, first}, nil) {
				return
			}
			first += int(batch.NumRows())
		}
		if s.file != nil {
			s.readBack(ctx, first, yield)
		}
	}
}

// readBack yields the rows in the file, the first of which has the given number.
func (s *mergeSource) readBack(ctx context.Context, first int, yield func(sourceBatch, error) bool) {
	room, err := memory.Take(ctx, 2*s.largest) // also the one before, which may still be looked at
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
		if !yield(sourceBatch{batch, first}, nil) {
			return
		}
		first += int(batch.NumRows())
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		yield(sourceBatch{}, fmt.Errorf("read rows of a merge back: %w", err))
	}
}

// describe names the values of some columns in a row, for messages.
func (s *mergeSource) describe(ctx context.Context, row int, columns []string) string {
	for batch, err := range s.batches(ctx) {
		if err != nil {
			break
		}
		if row < batch.first+int(batch.NumRows()) {
			return describeKey(batch, columns, row-batch.first)
		}
	}
	return fmt.Sprintf("row %d", row)
}

// close lets go of the file and of the memory.
func (s *mergeSource) close() {
	s.room.release()
	if s.file != nil {
		_ = s.file.Close() // nobody reads it any more
	}
}

// scratchFile makes a file without a name in the scratch directory, which is $TMPDIR.
func scratchFile() (*os.File, error) {
	f, err := os.CreateTemp("", "tiltyard-*")
	if err != nil {
		return nil, fmt.Errorf("make a scratch file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("make a scratch file: %w", err), f.Close())
	}
	return f, nil
}

// scratchError says that a request is too large for the scratch directory when it is.
func scratchError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &protocol.Error{
			Code: protocol.InvalidInput, TooLarge: true, Err: err,
			Message: "the rows of the merge do not fit the scratch directory", Detail: "merge the rows in several requests",
		}
	}
	return err
}
