package engine

import (
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
	"tiltyard/shared/protocol"
)

const (
	// sourceBatchBytes is how much of a source makes one batch, as a rule: batches that came
	// smaller are put together.
	sourceBatchBytes = 16 << 20
	// maxSourceRows is where row numbers end.
	maxSourceRows = 1<<31 - 1
)

// A mergeSource is the rows that a merge brings. They are read more than once, so the first
// of them are held in memory, and what is too much for that waits in a file in the scratch
// directory. The file has no name: whatever happens to the process, the system removes it.
type mergeSource struct {
	schema *arrow.Schema
	rows   int
	held   []arrow.RecordBatch
	file   *os.File // nil while all is held
	writer *ipc.Writer
	size   int64 // of the file
}

// A sourceBatch is consecutive rows of a source.
type sourceBatch struct {
	arrow.RecordBatch
	first int // number of the first row
}

// readSource reads the rows of a merge. They may be so many bytes, of which so many are
// held; the caller closes the source.
func readSource(rows dataset.Rows, maxBytes, heldBytes int64) (*mergeSource, error) {
	s := &mergeSource{schema: rows.Schema}
	err := s.read(rows.Batches, maxBytes, heldBytes)
	if err != nil {
		s.close()
		return nil, scratchError(err)
	}
	return s, nil
}

func (s *mergeSource) read(batches iter.Seq2[arrow.RecordBatch, error], maxBytes, heldBytes int64) error {
	var pending []arrow.RecordBatch
	var waiting, total int64
	flush := func() error {
		batch, err := gather.Concat(s.schema, pending)
		if err != nil {
			return err
		}
		pending, waiting = pending[:0], 0
		return s.add(batch, total <= heldBytes)
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if s.rows += int(batch.NumRows()); s.rows > maxSourceRows {
			return tooLarge(fmt.Sprintf("has more than %d rows", maxSourceRows))
		}
		bytes := int64(0)
		for _, column := range batch.Columns() {
			bytes += int64(column.Data().SizeInBytes())
		}
		if total += bytes; total > maxBytes {
			return tooLarge(fmt.Sprintf("is larger than %d bytes", maxBytes))
		}
		pending, waiting = append(pending, batch), waiting+bytes
		if waiting >= min(sourceBatchBytes, heldBytes) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil || s.writer == nil {
		return err
	}
	if err := s.writer.Close(); err != nil {
		return err
	}
	var err error
	s.size, err = s.file.Seek(0, io.SeekCurrent)
	return err
}

func tooLarge(how string) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, TooLarge: true,
		Message: "the source of the merge " + how, Detail: "merge the rows in several requests",
	}
}

// add keeps a batch, in memory only if all before it are there.
func (s *mergeSource) add(batch arrow.RecordBatch, hold bool) error {
	if s.writer == nil {
		if hold {
			s.held = append(s.held, batch)
			return nil
		}
		var err error
		if s.file, err = scratchFile(); err != nil {
			return err
		}
		s.writer = ipc.NewWriter(s.file, ipc.WithSchema(s.schema))
	}
	return s.writer.Write(batch)
}

// batches returns the rows in order.
func (s *mergeSource) batches() iter.Seq2[sourceBatch, error] {
	return func(yield func(sourceBatch, error) bool) {
		first := 0
		for _, batch := range s.held {
			if !yield(sourceBatch{batch, first}, nil) {
				return
			}
			first += int(batch.NumRows())
		}
		if s.file == nil {
			return
		}
		reader, err := ipc.NewReader(io.NewSectionReader(s.file, 0, s.size))
		if err != nil {
			yield(sourceBatch{}, fmt.Errorf("read rows of a merge back: %w", err))
			return
		}
		for reader.Next() {
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
}

// describe names the values of some columns in a row, for messages.
func (s *mergeSource) describe(row int, columns []string) string {
	for batch, err := range s.batches() {
		if err != nil {
			break
		}
		if row < batch.first+int(batch.NumRows()) {
			return describeKey(batch, columns, row-batch.first)
		}
	}
	return fmt.Sprintf("row %d", row)
}

// close lets go of the file.
func (s *mergeSource) close() {
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
