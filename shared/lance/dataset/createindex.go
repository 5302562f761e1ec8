package dataset

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
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/dataset/stage"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// ErrIndexExists says that a version has an index of a name.
var ErrIndexExists = errors.New("there is such an index already")

// A NewIndex is an index that is to be built over all rows of a version.
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
	Build func(ctx context.Context, out *SegmentFiles) error
}

// CreateIndex builds an index of one segment over the version and commits it. Rows that others
// append meanwhile are in no segment, and searches scan them. When others replace rows that the
// segment covers by rewriting fragments, or create an index of the same name, it returns ErrConflict.
func (d *Dataset) CreateIndex(ctx context.Context, n NewIndex) (*Dataset, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	n, op, err := d.replacing(n)
	if err != nil {
		return nil, err
	}
	entry, err := d.newEntry(n)
	if err != nil {
		return nil, err
	}
	out, err := d.newSegmentFiles(entry.UUID.String())
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
	return d.table.commit(ctx, &change{read: d, operation: op, wait: out.puts.Wait})
}

// CheckIndex returns the error of a new index whose column does not exist, or whose name is taken.
func (d *Dataset) CheckIndex(n NewIndex) error {
	_, _, err := d.replacing(n)
	return err
}

// replacing returns the index with its name, and the operation that creates it, without its segments:
// it removes those of an index that is replaced.
func (d *Dataset) replacing(n NewIndex) (NewIndex, *pb.CreateIndex, error) {
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
			return n, nil, fmt.Errorf("%w: %q, on another column", ErrIndexExists, n.Name)
		case !n.Replace:
			return n, nil, fmt.Errorf("%w: %q", ErrIndexExists, n.Name)
		default:
			op.RemovedIndices = append(op.RemovedIndices, x)
		}
	}
	return n, op, nil
}

// freeName returns the first of the names base, base_2, base_3 … that no index has but those of a
// kind on a field, which a new one may replace.
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

// isOn reports whether an index finds rows by the values of a field.
func isOn(x *pb.IndexMetadata, field int32) bool { return len(x.Fields) > 0 && x.Fields[0] == field }

// isOf reports whether an entry is of a kind. One that does not tell its kind counts as of any.
func isOf(x *pb.IndexMetadata, kind indexmeta.Kind) bool {
	inferred := *x
	indexmeta.Infer(&inferred)
	return inferred.Details == nil || indexmeta.KindOf(inferred.Details.TypeURL) == kind
}

// newEntry returns the entry of an index that covers all fragments, without its files.
func (d *Dataset) newEntry(n NewIndex) (*pb.IndexMetadata, error) {
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

// SegmentFiles are the files of a segment that is being built.
type SegmentFiles struct {
	place   stage.Place
	segment string // its UUID
	format  stage.Format
	puts    *errgroup.Group
	files   []pb.IndexFile
	open    map[*SegmentFile]bool
}

// newSegmentFiles begins the files of a segment. They are of the version of the table's data files,
// or of 2.0 when those are older.
func (d *Dataset) newSegmentFiles(id string) (*SegmentFiles, error) {
	version, err := d.Manifest().FileVersion()
	if err != nil {
		return nil, err
	}
	if version == lance.Legacy {
		version = lance.V2_0
	}
	return &SegmentFiles{
		place: d.table.place(), segment: id, format: stage.Format{Version: version},
		puts: new(errgroup.Group), open: map[*SegmentFile]bool{},
	}, nil
}

// A SegmentFile is one of the files.
type SegmentFile struct {
	all    *SegmentFiles
	name   string
	schema *schema.Schema // of the file, which writes its metadata at the end
	file   *stage.File
}

// Create begins a file. The metadata of the schema becomes that of the file.
func (s *SegmentFiles) Create(ctx context.Context, name string, columns *arrow.Schema) (*SegmentFile, error) {
	fields, err := schema.FromArrow(columns)
	if err != nil {
		return nil, err
	}
	file, err := s.place.NewIndexFile(ctx, s.segment, name, fields, s.format)
	if err != nil {
		return nil, err
	}
	f := &SegmentFile{all: s, name: name, schema: fields, file: file}
	s.open[f] = true
	return f, nil
}

// Write adds rows, whose columns are those of the schema.
func (f *SegmentFile) Write(ctx context.Context, rows arrow.RecordBatch) error {
	return f.file.Write(ctx, rows.Columns(), 0, rows.NumRows())
}

// AddBuffer writes a global buffer and returns its number.
func (f *SegmentFile) AddBuffer(b []byte) (int, error) { return f.file.AddBuffer(b) }

// SetMetadata adds an entry to the metadata of the file.
func (f *SegmentFile) SetMetadata(key, value string) {
	if f.schema.Metadata == nil {
		f.schema.Metadata = map[string]string{}
	}
	f.schema.Metadata[key] = value
}

// Close ends the file. The index cannot be committed while a file of it is open.
func (f *SegmentFile) Close(ctx context.Context) error {
	delete(f.all.open, f)
	file, err := f.file.Close(ctx, f.all.puts)
	if err != nil {
		return err
	}
	f.all.files = append(f.all.files, pb.IndexFile{Path: f.name, SizeBytes: file.SizeBytes})
	return nil
}

// build calls f, and then checks that it closed all files.
func (s *SegmentFiles) build(ctx context.Context, f func(ctx context.Context, out *SegmentFiles) error) error {
	if err := f(ctx, s); err != nil {
		return err
	}
	if len(s.open) > 0 {
		return fmt.Errorf("%d files of the segment were not closed", len(s.open))
	}
	return nil
}

// abort gives up the files that are open.
func (s *SegmentFiles) abort() {
	for f := range s.open {
		f.file.Abort()
	}
	clear(s.open)
}

// DropIndex removes an index, also one of a kind that nobody here could read, or returns
// ErrNoIndex. Its files stay for the versions that have it.
func (d *Dataset) DropIndex(ctx context.Context, name string) (*Dataset, error) {
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
