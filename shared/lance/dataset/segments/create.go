// Package segments maintains the indices of a table. It creates and drops indices, adds segments
// for new rows, and commits segments built by several processes. A Build function writes the files
// of a segment. For example, an index over 3 fragments, extended after 2 appends:
//
//	segment  5f0c…   fragments 1 2 3      built by Create
//	segment  a91e…   fragments 4 5        built by Apply of a Fold
//
// A later fold may replace a91e… by a segment over fragments 4 to 9. Begin with [Create] and
// [Folds].
package segments

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// ErrExists reports that the version has an index of the name.
var ErrExists = errors.New("there is such an index already")

// A NewIndex describes an index to be built over all rows of a version.
type NewIndex struct {
	Name    string
	Default bool   // Name is a suggestion: if it is taken, _2, _3 … is appended
	Column  string // field path
	Kind    indexmeta.Kind
	Details []byte // parameters, encoded as the kind's protobuf message
	Version int32  // index format version
	Replace bool   // replace an index of the same name and column, instead of ErrExists

	// Build writes the files of the segment. If it writes none, the index covers no rows. Native
	// Lance keeps such an entry for a table with too few rows for training.
	Build func(ctx context.Context, out *Files) error
	// Measure returns the details with properties of the built files, which it reads. Nil: there are none.
	Measure func(ctx context.Context, segments []Opener) ([]byte, error)
}

// An Opener opens a file of a segment that no version refers to yet.
type Opener func(ctx context.Context, name string) (*datafile.File, error)

// Create builds an index of one segment over the version and commits it. Rows appended in the
// meantime are not covered; searches scan them. If another writer rewrites covered rows or creates
// an index of the same name, the error is dataset.ErrConflict.
func Create(ctx context.Context, d *dataset.Dataset, n NewIndex) (*dataset.Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	n, op, err := replacing(d, n)
	if err != nil {
		return nil, err
	}
	entry, err := newEntry(d, n)
	if err != nil {
		return nil, err
	}
	out, err := newSegmentFiles(d, entry.UUID.String())
	if err != nil {
		return nil, err
	}
	defer out.abort()
	if err := out.build(ctx, n.Build); err != nil {
		return nil, fmt.Errorf("index %s: %w", n.Name, err)
	}
	entry.Files = out.files
	if len(out.files) == 0 {
		if entry.FragmentBitmap, err = roaring.New().ToBytes(); err != nil {
			return nil, err
		}
	} else if n.Measure != nil {
		if entry.Details.Value, err = n.Measure(ctx, []Opener{out.opener(d)}); err != nil {
			return nil, fmt.Errorf("index %s: %w", n.Name, err)
		}
	}
	op.NewIndices = []*pb.IndexMetadata{entry}
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op, Wait: out.puts.Wait})
}

// Check returns an error if the column of a new index does not exist or its name is taken.
func Check(d *dataset.Dataset, n NewIndex) error {
	_, _, err := replacing(d, n)
	return err
}

// replacing returns the index with its final name and an operation that removes the segments of a
// replaced index. The caller adds the new segments.
func replacing(d *dataset.Dataset, n NewIndex) (NewIndex, *pb.CreateIndex, error) {
	entries, err := d.Manifest().Indices()
	if err != nil {
		return n, nil, fmt.Errorf("%w: indices: %w", lance.ErrCorrupt, err)
	}
	fields, err := d.Manifest().Schema.ResolveThrough(n.Column)
	if err != nil {
		return n, nil, d.NoColumn(n.Column)
	}
	field := fields[len(fields)-1].ID
	if n.Default {
		n.Name = freeName(entries, n.Name, field, n.Kind)
	}
	op := new(pb.CreateIndex)
	for _, x := range entries {
		switch {
		case x.Name != n.Name:
		case !isOn(x, field):
			return n, nil, fmt.Errorf("%w: %q, on another column", ErrExists, n.Name)
		case !n.Replace:
			return n, nil, fmt.Errorf("%w: %q", ErrExists, n.Name)
		default:
			op.RemovedIndices = append(op.RemovedIndices, x)
		}
	}
	return n, op, nil
}

// freeName returns the first free name of base, base_2, base_3 …. The name of an index on the same
// field and of the same kind counts as free, because the new index may replace it.
//
// Source: index/create.rs of crate lance.
func freeName(entries []*pb.IndexMetadata, base string, field int32, kind indexmeta.Kind) string {
	name := base
	for n := 2; slices.ContainsFunc(entries, func(x *pb.IndexMetadata) bool {
		return x.Name == name && !(isOn(x, field) && isOf(x, kind))
	}); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// isOn reports whether an index is on a field.
func isOn(x *pb.IndexMetadata, field int32) bool { return len(x.Fields) > 0 && x.Fields[0] == field }

// isOf reports whether an entry has a kind. An entry without a kind matches any.
func isOf(x *pb.IndexMetadata, kind indexmeta.Kind) bool {
	inferred := *x
	indexmeta.Infer(&inferred)
	return inferred.Details == nil || indexmeta.KindOf(inferred.Details.TypeURL) == kind
}

// newEntry returns the manifest entry of an index over all fragments, without files.
func newEntry(d *dataset.Dataset, n NewIndex) (*pb.IndexMetadata, error) {
	fields, err := d.Manifest().Schema.ResolveThrough(n.Column)
	if err != nil {
		return nil, d.NoColumn(n.Column)
	}
	covered := roaring.New()
	for _, f := range d.Manifest().Fragments {
		if f.ID > 1<<32-1 {
			return nil, fmt.Errorf("%w: an index over fragment %d", lance.ErrUnsupported, f.ID)
		}
		covered.Add(uint32(f.ID))
	}
	bitmap, err := covered.ToBytes()
	if err != nil {
		return nil, err
	}
	created := uint64(d.Now().UnixMilli())
	return &pb.IndexMetadata{
		UUID: pb.UUID(uuid.New()), Fields: []int32{fields[len(fields)-1].ID}, Name: n.Name, DatasetVersion: d.Version(),
		FragmentBitmap: bitmap, Details: &pb.Any{TypeURL: n.Kind.TypeURL(), Value: n.Details},
		IndexVersion: &n.Version, CreatedAt: &created,
	}, nil
}

// Files collects the files of a segment under construction.
type Files struct {
	place   stage.Place
	segment string // its UUID
	format  stage.Format
	puts    *errgroup.Group
	files   []pb.IndexFile
	open    map[*File]bool
}

// newSegmentFiles starts the files of a segment. They use the table's data file version, but at
// least 2.0.
func newSegmentFiles(d *dataset.Dataset, id string) (*Files, error) {
	version, err := d.Manifest().FileVersion()
	if err != nil {
		return nil, err
	}
	if version == lance.Legacy {
		version = lance.V2_0
	}
	return &Files{
		place: d.Table().Stage(), segment: id, format: stage.Format{Version: version},
		puts: new(errgroup.Group), open: map[*File]bool{},
	}, nil
}

// A File is one file of a segment under construction.
type File struct {
	all    *Files
	name   string
	schema *schema.Schema // its metadata is written on Close
	file   *stage.File
}

// Create starts a file with the metadata of the schema.
func (s *Files) Create(ctx context.Context, name string, columns *arrow.Schema) (*File, error) {
	fields, err := schema.FromArrow(columns)
	if err != nil {
		return nil, err
	}
	file, err := s.place.NewIndexFile(ctx, s.segment, name, fields, s.format)
	if err != nil {
		return nil, err
	}
	f := &File{all: s, name: name, schema: fields, file: file}
	s.open[f] = true
	return f, nil
}

// Write appends rows with the columns of the schema.
func (f *File) Write(ctx context.Context, rows arrow.RecordBatch) error {
	return f.file.Write(ctx, rows.Columns(), 0, rows.NumRows())
}

// AddBuffer writes a global buffer and returns its number.
func (f *File) AddBuffer(b []byte) (int, error) { return f.file.AddBuffer(b) }

// SetMetadata sets a metadata entry of the file.
func (f *File) SetMetadata(key, value string) {
	if f.schema.Metadata == nil {
		f.schema.Metadata = map[string]string{}
	}
	f.schema.Metadata[key] = value
}

// Close completes the file. A commit fails while a file is open.
func (f *File) Close(ctx context.Context) error {
	delete(f.all.open, f)
	file, err := f.file.Close(ctx, f.all.puts)
	if err != nil {
		return err
	}
	f.all.files = append(f.all.files, pb.IndexFile{Path: f.name, SizeBytes: file.SizeBytes})
	return nil
}

// opener returns an Opener of the closed files, which waits until they are durable.
func (s *Files) opener(d *dataset.Dataset) Opener {
	open := opener(d, s.segment)
	return func(ctx context.Context, name string) (*datafile.File, error) {
		if err := s.puts.Wait(); err != nil {
			return nil, err
		}
		return open(ctx, name)
	}
}

// build calls f and checks that it closed all files.
func (s *Files) build(ctx context.Context, f func(ctx context.Context, out *Files) error) error {
	if err := f(ctx, s); err != nil {
		return err
	}
	if len(s.open) > 0 {
		return fmt.Errorf("%d files of the segment were not closed", len(s.open))
	}
	return nil
}

// abort aborts the open files.
func (s *Files) abort() {
	for f := range s.open {
		f.file.Abort()
	}
	clear(s.open)
}

// Drop removes an index of any kind, or returns snapshot.ErrNoIndex. Its files stay for older
// versions.
func Drop(ctx context.Context, d *dataset.Dataset, name string) (*dataset.Dataset, error) {
	segments, err := d.Manifest().Indices()
	if err != nil {
		return nil, err
	}
	op := &pb.CreateIndex{}
	for _, x := range segments {
		if x.Name == name && !indexmeta.IsSystem(name) {
			op.RemovedIndices = append(op.RemovedIndices, x)
		}
	}
	if len(op.RemovedIndices) == 0 {
		return nil, fmt.Errorf("%w: %q", snapshot.ErrNoIndex, name)
	}
	return d.Commit(ctx, op)
}
