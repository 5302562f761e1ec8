package dataset

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
)

// Rows are rows to be written: batches of one schema, taken one at a time.
type Rows struct {
	Schema  *arrow.Schema
	Batches iter.Seq2[arrow.RecordBatch, error]
	// Trusted says that blobs among them that are elsewhere may be anywhere, because they
	// were so in a table before. Else they must be below base paths of the table.
	Trusted bool
}

const (
	// maxFileRows is where a data file ends and the next fragment begins, as in the
	// native writer.
	maxFileRows = 1 << 20
	// maxBufferedFile is how much of a file is held before it is streamed: smaller files
	// are one request, and wait for nobody.
	maxBufferedFile = 8 << 20
)

// staged are fragments written ahead of a commit. Nothing refers to their files yet, and
// their names are used by nobody else: what is not committed is garbage.
type staged struct {
	fragments []*pb.Fragment // with ids 0: the commit gives them theirs
	rows      int64
	puts      *errgroup.Group // small files on their way
}

// wait returns when all files are durable.
func (s *staged) wait() error { return s.puts.Wait() }

// stage writes rows, whose columns are the fields of s by way of match, as new files. It
// returns when all have been taken; the last small file may still be on its way.
func (t *Table) stage(ctx context.Context, match *schema.Match, format fileFormat, rows iter.Seq2[arrow.RecordBatch, error]) (*staged, error) {
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(maxConcurrentReads)
	out := &staged{puts: puts}
	if err := t.stageInto(ctx, out, match, format, rows); err != nil {
		return nil, causeOf(puts, err)
	}
	return out, nil
}

// causeOf returns the error of the small files when that is what ended the work beside them.
func causeOf(puts *errgroup.Group, err error) error {
	if errors.Is(err, context.Canceled) {
		err = cmp.Or(puts.Wait(), err)
	}
	return err
}

func (t *Table) stageInto(ctx context.Context, out *staged, match *schema.Match, format fileFormat, rows iter.Seq2[arrow.RecordBatch, error]) error {
	var file *stagedFile
	defer func() {
		if file != nil {
			file.abort()
		}
	}()
	for batch, err := range rows {
		if err != nil {
			return err
		}
		columns, err := match.Columns(batch)
		if err != nil {
			return err
		}
		for from := int64(0); from < batch.NumRows(); {
			if file == nil {
				if file, err = t.newFile(ctx, match.Schema, format); err != nil {
					return err
				}
			}
			n := min(batch.NumRows()-from, maxFileRows-file.rows)
			if err := file.write(ctx, columns, from, n); err != nil {
				return err
			}
			from += n
			if file.rows == maxFileRows {
				if err := out.add(file); err != nil {
					return err
				}
				file = nil
			}
		}
	}
	if file == nil {
		return nil
	}
	err := out.add(file)
	file = nil
	return err
}

// A stagedFile is a data file being written.
type stagedFile struct {
	path     string // below data/
	upload   *upload
	sides    []*upload      // files beside it, for blobs, that are being written
	sidePuts errgroup.Group // and those that are on their way
	writer   columnWriter
	room     memory.Hold // for what the writer has in use
	rows     int64
	v        lance.Version
}

// newFile begins a file with the columns of s.
func (t *Table) newFile(ctx context.Context, s *schema.Schema, format fileFormat) (*stagedFile, error) {
	f := &stagedFile{path: newFileName(), v: format.version}
	f.sidePuts.SetLimit(maxSidePuts)
	f.upload = t.newUpload(ctx, t.prefix+"/data/"+f.path)
	var err error
	f.writer, err = f.newColumnWriter(ctx, t, s, format)
	return f, err
}

// write writes n rows of columns from a row on.
func (f *stagedFile) write(ctx context.Context, columns []arrow.Array, from, n int64) error {
	for end := from + n; from < end; {
		rows, err := f.fitting(ctx, columns, from, end-from)
		if err != nil {
			return err
		}
		if err := f.writer.Write(rows); err != nil {
			return err
		}
		from += rows.NumRows()
		f.rows += rows.NumRows()
	}
	return nil
}

// leastRoom is the memory for which a file waits rather than to write fewer rows at once.
const leastRoom = 1 << 20

// fitting takes the memory to write n rows from a row on, and returns as many of them as
// there is memory for. When there is too little, pages are made of the rows that wait for
// more; and when there still is, it waits for what a few rows take.
func (f *stagedFile) fitting(ctx context.Context, columns []arrow.Array, from, n int64) (arrow.RecordBatch, error) {
	rows := sliced(columns, from, n)
	need := f.writer.Need(rows)
	if f.tryRoom(ctx, need) {
		return rows, nil
	}
	if err := f.writer.Flush(); err != nil {
		return nil, err
	}
	for need = f.writer.Need(rows); n > 1 && need > leastRoom && !f.tryRoom(ctx, need); need = f.writer.Need(rows) {
		n = (n + 1) / 2
		rows = sliced(columns, from, n)
	}
	return rows, f.room.Resize(ctx, need)
}

// tryRoom takes memory without waiting, if that leaves half of the share to whoever makes the
// rows: they cannot have what waits here for more of them.
func (f *stagedFile) tryRoom(ctx context.Context, bytes int64) bool {
	if more := bytes - f.room.Bytes(); more > 0 {
		left, ok := memory.FromContext(ctx).TryPart(more)
		if !ok {
			return false
		}
		left.Close()
	}
	return f.room.TryResize(ctx, bytes)
}

// sliced returns n rows of columns from a row on.
func sliced(columns []arrow.Array, from, n int64) arrow.RecordBatch {
	fields, slices := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for i, c := range columns {
		// Blobs are not of the type that the table's schema says.
		fields[i].Type, slices[i] = c.DataType(), array.NewSlice(c, from, from+n)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), slices, n)
}

// abort gives the file up, and those beside it.
func (f *stagedFile) abort() {
	f.room.Release()
	f.upload.abort()
	for _, side := range f.sides {
		side.abort()
	}
	f.sidePuts.Wait() //nolint:errcheck // the files are garbage either way
}

// close ends a file, which is then on its way with puts.
func (f *stagedFile) close(puts *errgroup.Group) (pb.DataFile, error) {
	summary, err := f.writer.Close()
	f.room.Release()
	if err == nil {
		err = f.sidePuts.Wait()
	}
	if err != nil {
		f.abort()
		return pb.DataFile{}, err
	}
	if err := f.upload.finish(puts); err != nil {
		return pb.DataFile{}, fmt.Errorf("write data file %s: %w", f.path, err)
	}
	return pb.DataFile{
		Path: f.path, Fields: summary.Fields, ColumnIndices: summary.ColumnIndices,
		MajorVersion: uint32(f.v.Major), MinorVersion: uint32(f.v.Minor), SizeBytes: uint64(summary.Size),
	}, nil
}

// add ends a file and lists it as a fragment.
func (s *staged) add(f *stagedFile) error {
	file, err := f.close(s.puts)
	if err != nil {
		return err
	}
	s.rows += f.rows
	s.fragments = append(s.fragments, &pb.Fragment{PhysicalRows: uint64(f.rows), Files: []pb.DataFile{file}})
	return nil
}

// newFileName returns a name that no file has: 24 binary digits, which spread the keys,
// and 26 hexadecimal ones, as the native writer names its files.
func newFileName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: the program ends first
	var name strings.Builder
	for _, c := range b[:3] {
		fmt.Fprintf(&name, "%08b", c)
	}
	return name.String() + hex.EncodeToString(b[3:]) + ".lance"
}
