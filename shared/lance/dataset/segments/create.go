// Package segments keeps the indices of a table: it creates and drops them, adds segments for new rows, and commits segments that
// several processes have built. The files of a segment are written by a Build function. Begin with [Create] and [Folds].
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
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// ErrExists means that the version has an index of the name.
var ErrExists = errors.New("there is such an index already")

// A NewIndex describes an index to be built over all rows of a version.
type NewIndex struct {
	Name    string
	Default bool   // Name was not asked for: where another index has it, _2, _3 … is appended
	Column  string // path of the field
	Kind    indexmeta.Kind
	Details []byte // the parameters, as the kind's message encodes them
	Version int32  // of the index format
	Replace bool   // an index of the same name and column is replaced; otherwise it is ErrIndexExists

	// Build writes the files of the segment. If it writes none, the index covers no rows: native
	// Lance keeps such an entry for a table that has too few rows to train with.
	Build func(ctx context.Context, out *Files) error
}

// Create builds an index of one segment over the version and commits it. Rows appended meanwhile are in no segment; searches
// scan them. If another writer rewrites covered rows or creates an index of the same name, the error is dataset.ErrConflict.
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
	}
	op.NewIndices = []*pb.IndexMetadata{entry}
	return d.Table().Commit(ctx, &dataset.Change{Read: d, Operation: op, Wait: out.puts.Wait})
}

// Check returns the error of a new index whose column does not exist or whose name is taken.
func Check(d *dataset.Dataset, n NewIndex) error {
	_, _, err := replacing(d, n)
	return err
}

// replacing returns the index with its final name, and the operation that creates it, without segments. The operation removes
// the segments of an index that is replaced.
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

// freeName returns the first of the names base, base_2, base_3 … that no other index has. A new index may replace one of the same
// field and kind.
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

// isOf reports whether an entry is of a kind. An entry without a kind counts as any.
func isOf(x *pb.IndexMetadata, kind indexmeta.Kind) bool {
	inferred := *x
	indexmeta.Infer(&inferred)
	return inferred.Details == nil || indexmeta.KindOf(inferred.Details.TypeURL) == kind
}

// newEntry returns the entry of an index over all fragments, without files.
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

// Files are the files of a segment that is being built.
type Files struct {
	place   stage.Place
	segment string // its UUID
	format  stage.Format
	puts    *errgroup.Group
	files   []pb.IndexFile
	open    map[*File]bool
}

// newSegmentFiles begins the files of a segment, in the version of the data files of the table or in 2.0 if that is newer.
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

// A File is one of the Files.
type File struct {
	all    *Files
	name   string
	schema *schema.Schema // of the file, which writes its metadata at the end
	file   *stage.File
}

// Create begins a file, whose metadata is that of the schema.
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

// Write adds rows in the columns of the schema.
func (f *File) Write(ctx context.Context, rows arrow.RecordBatch) error {
	return f.file.Write(ctx, rows.Columns(), 0, rows.NumRows())
}

// AddBuffer writes a global buffer and returns its number.
func (f *File) AddBuffer(b []byte) (int, error) { return f.file.AddBuffer(b) }

// SetMetadata adds an entry to the metadata of the file.
func (f *File) SetMetadata(key, value string) {
	if f.schema.Metadata == nil {
		f.schema.Metadata = map[string]string{}
	}
	f.schema.Metadata[key] = value
}

// Close completes the file. An index with an open file cannot be committed.
func (f *File) Close(ctx context.Context) error {
	delete(f.all.open, f)
	file, err := f.file.Close(ctx, f.all.puts)
	if err != nil {
		return err
	}
	f.all.files = append(f.all.files, pb.IndexFile{Path: f.name, SizeBytes: file.SizeBytes})
	return nil
}

// build calls f and checks that it has closed all files.
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

// Drop removes an index of any kind, or returns snapshot.ErrNoIndex. Its files stay for older versions.
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
