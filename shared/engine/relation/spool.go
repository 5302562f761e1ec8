package relation

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/process/scratch"
	"tiltyard/shared/sql"
)

const (
	// memoryShare is how many steps may each hold rows up to the memory of a request, which leaves some for what they read.
	memoryShare = 4
	// spoolBytes and spoolRows bound a batch in a spool, unless one row is larger.
	spoolBytes = 1 << 20
	spoolRows  = 8192
	// bufferBytes is the size of the buffer of a spool that is written.
	bufferBytes = 32 << 10
)

// memoryOf returns how many bytes of rows a step may hold before it writes them to a scratch file.
func memoryOf(ctx context.Context) int64 {
	if limit := memory.FromContext(ctx).Limit(); limit > 0 {
		return limit / memoryShare
	}
	return 1 << 62
}

// A spool is a scratch file with runs of rows. The zero spool has none. Its errors say that rows are too many if the scratch
// directory is full.
type spool struct {
	file   *os.File
	buffer *bufio.Writer
	writer *ipc.Writer // of the last run, until it ends
	runs   []*run
}

// A run is a part of a spool: a stream of Arrow.
type run struct {
	of       *spool
	schema   *arrow.Schema
	from, to int64
	largest  int64 // bytes of a batch
}

func (s *spool) len() int { return len(s.runs) }

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // its rows are no longer needed
	}
}

// begin begins a run.
func (s *spool) begin(schema *arrow.Schema) (err error) {
	from := int64(0)
	if s.file == nil {
		if s.file, err = scratch.File(); err != nil {
			return err
		}
		s.buffer = bufio.NewWriterSize(s.file, bufferBytes)
	}
	if n := len(s.runs); n > 0 {
		from = s.runs[n-1].to
	}
	s.writer = ipc.NewWriter(s.buffer, ipc.WithSchema(schema))
	s.runs = append(s.runs, &run{of: s, schema: schema, from: from})
	return nil
}

// add adds the rows of a batch to the run that was begun.
func (s *spool) add(batch arrow.RecordBatch) error {
	r, rows, each := s.runs[len(s.runs)-1], batch.NumRows(), int64(spoolRows)
	if size := take.BatchBytes(batch); size > 0 {
		each = min(each, max(1, int64(float64(rows)*spoolBytes/float64(size))))
	}
	for from := int64(0); from < rows; from += each {
		part := batch.NewSlice(from, min(from+each, rows))
		size := int64(0)
		for _, c := range part.Columns() {
			size += take.SliceBytes(c)
		}
		r.largest = max(r.largest, size)
		if err := s.writer.Write(part); err != nil {
			return written(err)
		}
	}
	return nil
}

// end ends the run that was begun.
func (s *spool) end() error {
	err := s.writer.Close()
	if err == nil {
		err = s.buffer.Flush()
	}
	if err == nil {
		s.runs[len(s.runs)-1].to, err = s.file.Seek(0, io.SeekCurrent)
	}
	return written(err)
}

// written returns the error of writing to a scratch file.
func written(err error) error {
	switch {
	case err == nil:
		return nil
	case scratch.Full(err):
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "the rows of a step fit neither into memory nor into the scratch directory: add conditions or a limit")
	}
	return fmt.Errorf("write rows to a scratch file: %w", err)
}

// rows yields the rows of a run. Their memory is charged to the context until the end. Two batches may be in use.
func (r *run) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		held, err := memory.Take(ctx, 2*r.largest)
		if err != nil {
			yield(nil, err)
			return
		}
		defer held.Release()
		reader, err := ipc.NewReader(io.NewSectionReader(r.of.file, r.from, r.to-r.from))
		for err == nil {
			var batch arrow.RecordBatch
			if batch, err = reader.Read(); err == nil && !yield(array.NewRecordBatch(r.schema, batch.Columns(), batch.NumRows()), nil) {
				return
			}
		}
		if err != io.EOF { //nolint:errorlint // the reader does not wrap it
			yield(nil, fmt.Errorf("read rows of a scratch file back: %w", err))
		}
	}
}
