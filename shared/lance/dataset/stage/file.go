// Package stage writes new data files of a table, before a commit refers to them. A [Place] writes
// rows as fragments ([Place.WriteRows]) or one additional file ([Place.NewFile]), in the [Format]
// of the table: any data file version, with side files for large blobs.
//
// For example, 2,500,000 rows become three fragments, because a file ends after 1,048,576 rows:
//
//	data/0100….lance    1,048,576 rows    streamed while it is written if over 8 MiB
//	data/1101….lance    1,048,576 rows
//	data/0011….lance      402,848 rows    one request if small
//
// Small files upload in the background. The caller must wait for them ([Files.Wait]) before its
// commit.
package stage

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
	"tiltyard/shared/process/memory"
)

const (
	// MaxFileRows is the number of rows at which a data file ends and the next fragment begins, as
	// in the native writer.
	MaxFileRows = 1 << 20
	// maxBufferedFile is the size up to which a file is buffered. A smaller file is one request in
	// the background; a larger one is streamed.
	maxBufferedFile = 8 << 20
	// maxPuts bounds the small files of one write that are uploading.
	maxPuts = 32
)

// Files holds fragments before their commit. No version refers to them, and their names are unique:
// without a commit they are unreferenced files for a cleanup.
type Files struct {
	Fragments []*pb.Fragment // with id 0; the commit assigns ids
	Rows      int64
	Puts      *errgroup.Group // uploads of small files
}

// Wait returns when all files are durable.
func (s *Files) Wait() error { return s.Puts.Wait() }

// WriteRows writes rows as new files. match maps their columns to the fields of its schema. It
// returns after the last row; the last small file may still be uploading.
func (p Place) WriteRows(ctx context.Context, match *schema.Match, format Format, rows iter.Seq2[arrow.RecordBatch, error]) (*Files, error) {
	puts, ctx := errgroup.WithContext(ctx)
	puts.SetLimit(maxPuts)
	out := &Files{Puts: puts}
	if err := p.stageInto(ctx, out, match, format, rows); err != nil {
		return nil, CauseOf(puts, err)
	}
	return out, nil
}

// CauseOf returns the error of an upload in puts if that error cancelled the concurrent work, and
// otherwise err.
func CauseOf(puts *errgroup.Group, err error) error {
	if errors.Is(err, context.Canceled) {
		err = cmp.Or(puts.Wait(), err)
	}
	return err
}

// stageInto writes rows to files of at most MaxFileRows rows and adds them to out.
func (p Place) stageInto(ctx context.Context, out *Files, match *schema.Match, format Format, rows iter.Seq2[arrow.RecordBatch, error]) error {
	var file *File
	defer func() {
		if file != nil {
			file.Abort()
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
				if file, err = p.NewFile(ctx, match.Schema, format); err != nil {
					return err
				}
			}
			n := min(batch.NumRows()-from, MaxFileRows-file.rows)
			if err := file.Write(ctx, columns, from, n); err != nil {
				return err
			}
			from += n
			if file.rows == MaxFileRows {
				if err := out.add(ctx, file); err != nil {
					return err
				}
				file = nil
			}
		}
	}
	if file == nil {
		return nil
	}
	err := out.add(ctx, file)
	file = nil
	return err
}

// A File is a data file being written. The caller closes or aborts it.
type File struct {
	path     string // relative to its folder
	upload   *upload
	sides    []*upload      // unclosed blob side files
	sidePuts errgroup.Group // uploads of closed side files
	writer   columnWriter
	room     memory.Hold // memory used by the writer
	rows     int64
	v        lance.Version
}

// NewFile starts a data file with the columns of a schema. The context must last until the file is
// closed.
func (p Place) NewFile(ctx context.Context, s *schema.Schema, format Format) (*File, error) {
	f, err := p.newFile(ctx, "data", newFileName(), s, format)
	if format.Version != lance.Legacy {
		f.upload.written = p.Written
	}
	return f, err
}

// NewIndexFile starts a file of the index segment with a UUID. The context must last until the file
// is closed.
func (p Place) NewIndexFile(ctx context.Context, segment, name string, s *schema.Schema, format Format) (*File, error) {
	return p.newFile(ctx, "_indices/"+segment, name, s, format)
}

// newFile starts a file in a folder below the table.
func (p Place) newFile(ctx context.Context, folder, name string, s *schema.Schema, format Format) (*File, error) {
	f := &File{path: name, v: format.Version}
	f.sidePuts.SetLimit(maxSidePuts)
	f.upload = p.newUpload(p.Prefix + "/" + folder + "/" + name)
	var err error
	f.writer, err = f.newColumnWriter(ctx, p, s, format)
	return f, err
}

// Write writes n rows of columns, beginning at row from.
func (f *File) Write(ctx context.Context, columns []arrow.Array, from, n int64) error {
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

// AddBuffer writes a global buffer and returns its number in the file.
func (f *File) AddBuffer(b []byte) (int, error) { return f.writer.AddBuffer(b) }

// leastRoom is the memory that Write blocks for, instead of writing fewer rows at once.
const leastRoom = 1 << 20

// fitting reserves memory to write n rows and returns as many of them as memory allows. If memory
// is short, it first flushes the rows that the writer holds back for fuller pages. If it is still
// short, it waits for the memory of a few rows.
func (f *File) fitting(ctx context.Context, columns []arrow.Array, from, n int64) (arrow.RecordBatch, error) {
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

// tryRoom reserves memory without waiting, and only if as much again stays free for the source of
// the rows. The source could not use memory that waits here for more rows.
func (f *File) tryRoom(ctx context.Context, bytes int64) bool {
	if more := bytes - f.room.Bytes(); more > 0 {
		left, ok := memory.FromContext(ctx).TryPart(more)
		if !ok {
			return false
		}
		left.Close()
	}
	return f.room.TryResize(ctx, bytes)
}

// sliced returns n rows of columns, beginning at row from.
func sliced(columns []arrow.Array, from, n int64) arrow.RecordBatch {
	fields, slices := make([]arrow.Field, len(columns)), make([]arrow.Array, len(columns))
	for i, c := range columns {
		// The type of a blob column here differs from the table's schema.
		fields[i].Type, slices[i] = c.DataType(), array.NewSlice(c, from, from+n)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), slices, n)
}

// Abort abandons the file and its side files.
func (f *File) Abort() {
	f.room.Release()
	f.upload.abort()
	for _, side := range f.sides {
		side.abort()
	}
	f.sidePuts.Wait() //nolint:errcheck // the files stay unreferenced either way
}

// Close completes the file. A small file is then uploading in a goroutine of puts.
func (f *File) Close(ctx context.Context, puts *errgroup.Group) (pb.DataFile, error) {
	summary, err := f.writer.Close()
	f.room.Release()
	if err == nil {
		err = f.sidePuts.Wait()
	}
	if err != nil {
		f.Abort()
		return pb.DataFile{}, err
	}
	if err := f.upload.finish(ctx, puts); err != nil {
		return pb.DataFile{}, fmt.Errorf("write data file %s: %w", f.path, err)
	}
	return pb.DataFile{
		Path: f.path, Fields: summary.Fields, ColumnIndices: summary.ColumnIndices,
		MajorVersion: uint32(f.v.Major), MinorVersion: uint32(f.v.Minor), SizeBytes: uint64(summary.Size),
	}, nil
}

// add closes a file and appends it as a fragment.
func (s *Files) add(ctx context.Context, f *File) error {
	file, err := f.Close(ctx, s.Puts)
	if err != nil {
		return err
	}
	s.Rows += f.rows
	s.Fragments = append(s.Fragments, &pb.Fragment{PhysicalRows: uint64(f.rows), Files: []pb.DataFile{file}})
	return nil
}

// newFileName returns a unique name: 24 binary digits, which spread the keys, and 26 hexadecimal
// digits, as in the native writer.
func newFileName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: a failure ends the program
	var name strings.Builder
	for _, c := range b[:3] {
		fmt.Fprintf(&name, "%08b", c)
	}
	return name.String() + hex.EncodeToString(b[3:]) + ".lance"
}
