package snapshot

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A Blob is a value of a blob column before its bytes are read.
type Blob struct {
	datafile.Blob // where the bytes are
	snapshot      *Snapshot
	file          *fragment.File
}

// Blobs locates the values of a blob column, or of a blob field at a path inside structs, in the
// rows at the addresses. It reads the descriptions, not the bytes. It returns lance.ErrUnsupported
// for a column that has blob metadata but a type without bytes.
func (s *Snapshot) Blobs(ctx context.Context, column string, addresses []uint64) ([]Blob, error) {
	chain, err := s.manifest.Schema.Resolve(column)
	if err != nil {
		return nil, s.NoColumn(column)
	}
	leaf := chain[len(chain)-1]
	if !leaf.IsBlob() {
		return nil, fmt.Errorf("column %s of type %s holds no blobs", column, leaf.Type)
	}
	if err := checkBlobs(leaf, column); err != nil {
		return nil, err
	}
	rows, err := s.Take(ctx, []string{column}, addresses)
	if err != nil {
		return nil, err
	}
	described, err := datafile.Blobs(rows.Column(0))
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", column, err)
	}
	blobs := make([]Blob, len(described))
	for i, b := range described {
		blobs[i] = Blob{Blob: b, snapshot: s, file: s.Fragment(addresses[i] >> 32).FileOf(leaf)}
		blobs[i].Null = b.Null || blobs[i].file == nil
	}
	return blobs, nil
}

// Read returns bytes [from, from+size) of the blob. A range outside the blob is
// objectstore.ErrInvalidRange; a null has length 0. An external blob is read only from locations
// allowed for files of the table.
func (b Blob) Read(ctx context.Context, from, size int64) ([]byte, error) {
	length, err := b.Length(ctx)
	if err != nil {
		return nil, err
	}
	if from < 0 || size < 0 || size > length || from > length-size {
		return nil, fmt.Errorf("%w: %d bytes at %d of a blob of %d", objectstore.ErrInvalidRange, size, from, length)
	}
	part := b.Blob
	part.Position, part.Size = b.Position+uint64(from), uint64(size)
	if b.Null || size == 0 {
		return []byte{}, nil
	}
	if b.Kind == datafile.ExternalBlob {
		return b.readExternal(ctx, objectstore.Range{Offset: int64(part.Position), Length: size})
	}
	file, err := b.file.OpenBlobs(ctx)
	if err != nil {
		return nil, err
	}
	read, err := file.ReadBlobs(ctx, []datafile.Blob{part})
	if err != nil {
		return nil, err
	}
	return read[0], nil
}

// Length returns the size of the blob in bytes. For an external blob without a recorded size, it
// requests the object's size from storage.
func (b Blob) Length(ctx context.Context) (int64, error) {
	switch {
	case b.Null:
		return 0, nil
	case b.Kind != datafile.ExternalBlob || b.Size > 0:
		if b.Size > 1<<62 || b.Position > 1<<62 {
			return 0, fmt.Errorf("%w: blob of %d bytes at %d", lance.ErrCorrupt, b.Size, b.Position)
		}
		return int64(b.Size), nil
	}
	at, err := b.external(ctx)
	if err != nil {
		return 0, err
	}
	_, info, err := at.Store.GetRanges(ctx, at.Prefix)
	if err != nil {
		return 0, fmt.Errorf("external blob %s: %w", at.URI, err)
	}
	if b.Position > uint64(info.Size) {
		return 0, fmt.Errorf("%w: external blob at %d of %d bytes", lance.ErrCorrupt, b.Position, info.Size)
	}
	return info.Size - int64(b.Position), nil
}

// external returns the object of an external blob after the access check.
func (b Blob) external(ctx context.Context) (objectstore.Location, error) {
	at, err := b.place()
	if err == nil {
		err = b.snapshot.place.mayRead(ctx, at)
	}
	if err != nil {
		return at, fmt.Errorf("external blob: %w", err)
	}
	return at, nil
}

// place resolves the object of an external blob: a URI, or a path below the base path b.ID.
func (b Blob) place() (objectstore.Location, error) {
	t := b.snapshot.place
	if b.ID == 0 {
		return t.resolve(b.URI)
	}
	id := b.ID
	base, err := t.bases(b.snapshot.manifest).At(&id)
	if err != nil {
		return objectstore.Location{}, err
	}
	at := base.Join(b.URI)
	if err := objectstore.CheckKey(at.Prefix); err != nil {
		return at, fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	}
	return at, nil
}

// readExternal reads a range of an external blob and charges it to the memory budget first.
func (b Blob) readExternal(ctx context.Context, r objectstore.Range) ([]byte, error) {
	at, err := b.external(ctx)
	if err != nil {
		return nil, err
	}
	if err := memory.FromContext(ctx).Take(ctx, r.Length); err != nil {
		return nil, err
	}
	got, _, err := at.Store.GetRanges(ctx, at.Prefix, r)
	if err != nil {
		return nil, fmt.Errorf("external blob %s: %w", at.URI, err)
	}
	return got[0], nil
}

// ReadBlobs returns the bytes of whole blobs in the order of the addresses; nulls are nil. All
// results are in memory at once, and the context's memory budget covers them only during the read.
// If the sizes cannot be trusted, check them with Blobs first.
func (s *Snapshot) ReadBlobs(ctx context.Context, column string, addresses []uint64) ([][]byte, error) {
	blobs, err := s.Blobs(ctx, column, addresses)
	if err != nil {
		return nil, err
	}
	return s.Contents(ctx, blobs)
}

// Contents returns the bytes of whole blobs of the version, read in parallel; nulls are nil.
func (s *Snapshot) Contents(ctx context.Context, blobs []Blob) ([][]byte, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	contents := make([][]byte, len(blobs))
	inFile := map[*fragment.File][]int{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxConcurrentReads)
	for i, b := range blobs {
		switch {
		case b.Null:
		case b.Kind != datafile.ExternalBlob:
			inFile[b.file] = append(inFile[b.file], i)
		default:
			group.Go(func() error {
				length, err := b.Length(ctx)
				if err == nil {
					contents[i], err = b.Read(ctx, 0, length)
				}
				return err
			})
		}
	}
	// The blobs of one data file are read together.
	for file, which := range inFile {
		group.Go(func() error { return s.readFrom(ctx, file, blobs, which, contents) })
	}
	return contents, group.Wait()
}

// readFrom reads the blobs of one data file and of its blob side files.
func (s *Snapshot) readFrom(ctx context.Context, file *fragment.File, blobs []Blob, which []int, contents [][]byte) error {
	opened, err := file.OpenBlobs(ctx)
	if err != nil {
		return err
	}
	here := make([]datafile.Blob, len(which))
	for i, at := range which {
		here[i] = blobs[at].Blob
	}
	read, err := opened.ReadBlobs(ctx, here)
	if err != nil {
		return err
	}
	for i, at := range which {
		contents[at] = read[i]
	}
	return nil
}
