package snapshot

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/memory"
)

// Storage is what the columns of a version take in its data files.
type Storage struct {
	Columns []int64 // bytes of each column of the schema, in order, with those of the fields inside of it
	Bytes   int64   // of all data files
	// Other is the part of Bytes in no column of the table: contents of blobs, metadata of the files,
	// columns that were dropped, and files of which no like was read.
	Other int64
	Files int // data files of the version
	Read  int // those whose metadata was read; if they are fewer, the bytes of columns are an estimate
}

const (
	// storageFanOut is how many files are read in parallel.
	storageFanOut = 16
	// storageRoom is about what the metadata of one takes while it is read.
	storageRoom = 256 << 10
	// perFile is what is held of each file of the version, and perKind of each kind, beside the list of
	// what its files hold.
	perFile, perKind = 128, 512
)

// Storage reads the metadata of the data files, of at most limit of them. Of a version with more files
// it reads some of each kind (files that hold the same columns), evenly from the first to the last, and
// counts them for the others of their kind.
func (s *Snapshot) Storage(ctx context.Context, limit int) (Storage, error) {
	total := 0
	for _, f := range s.manifest.Fragments {
		total += len(f.Files)
	}
	hold, err := memory.Take(ctx, int64(perFile*total))
	if err != nil {
		return Storage{}, err
	}
	defer hold.Release()
	kinds, err := s.fileKinds(ctx, &hold)
	if err != nil {
		return Storage{}, err
	}
	columns := len(s.Schema().Fields)
	sizes := Storage{Columns: make([]int64, columns), Files: total}
	left := min(limit, total)
	for _, k := range kinds {
		// The large kinds are first. Each has one file at least, as far as that goes.
		k.choose(min(left, len(k.files), max(1, len(k.files)*limit/max(total, 1))))
		left -= len(k.chosen)
		sizes.Read += len(k.chosen)
		if len(k.chosen) > 0 { // as there may be as many kinds as files
			if err := hold.Resize(ctx, hold.Bytes()+int64(8*columns)); err != nil {
				return Storage{}, err
			}
			k.columns = make([]int64, columns)
		}
	}
	if err := s.readStorage(ctx, kinds); err != nil {
		return Storage{}, err
	}
	counted := int64(0)
	for _, k := range kinds {
		whole := k.whole()
		sizes.Bytes += whole
		for i, bytes := range k.columns {
			bytes = k.scaled(bytes, whole)
			sizes.Columns[i] += bytes
			counted += bytes
		}
	}
	sizes.Other = max(0, sizes.Bytes-counted)
	return sizes, nil
}

// A fileKind is the data files that hold the same columns.
type fileKind struct {
	files  []sizedFile
	chosen []sizedFile // those that are read
	bytes  int64       // of all files, as far as the manifest tells
	rows   int64

	columns []int64 // of the chosen files; nil if there are none
	read    int64   // bytes of the chosen files
}

type sizedFile struct {
	*fragment.File
	rows int64
}

// fileKinds returns the kinds of the version's files, those with the most bytes first. The hold grows by what
// they take.
func (s *Snapshot) fileKinds(ctx context.Context, hold *memory.Hold) ([]*fileKind, error) {
	var kinds []*fileKind
	var last *fileKind
	byColumns := map[string]*fileKind{}
	for _, f := range s.fragments() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, file := range f.Files() {
			if last == nil || !last.files[0].HoldsAlike(file) {
				held := file.AppendHeld(nil)
				if last = byColumns[string(held)]; last == nil {
					if err := hold.Resize(ctx, hold.Bytes()+int64(perKind+len(held))); err != nil {
						return nil, err
					}
					last = new(fileKind)
					kinds, byColumns[string(held)] = append(kinds, last), last
				}
			}
			last.files = append(last.files, sizedFile{file, f.Rows})
			last.bytes += int64(file.Meta().SizeBytes)
			last.rows += f.Rows
		}
	}
	slices.SortStableFunc(kinds, func(a, b *fileKind) int { return cmp.Compare(b.bytes, a.bytes) })
	return kinds, nil
}

// choose chooses n of the files, evenly.
func (k *fileKind) choose(n int) {
	for i := range n {
		k.chosen = append(k.chosen, k.files[i*len(k.files)/n])
	}
}

// whole returns the bytes of all files of the kind. Old manifests do not tell the sizes of some files.
func (k *fileKind) whole() int64 {
	unknown := slices.ContainsFunc(k.files, func(f sizedFile) bool { return f.Meta().SizeBytes == 0 })
	switch {
	case len(k.chosen) == len(k.files):
		return k.read
	case unknown && k.chosenRows() > 0:
		return int64(float64(k.read) / float64(k.chosenRows()) * float64(k.rows))
	}
	return k.bytes
}

func (k *fileKind) chosenRows() (rows int64) {
	for _, f := range k.chosen {
		rows += f.rows
	}
	return rows
}

// scaled returns what a column has in all files of the kind, by what it has in those that were read.
func (k *fileKind) scaled(bytes, whole int64) int64 {
	if len(k.chosen) == len(k.files) || k.read == 0 {
		return bytes
	}
	return int64(float64(bytes) / float64(k.read) * float64(whole))
}

// readStorage reads the chosen files.
func (s *Snapshot) readStorage(ctx context.Context, kinds []*fileKind) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(storageFanOut)
	var adding sync.Mutex
	for _, k := range kinds {
		for _, f := range k.chosen {
			group.Go(func() (err error) {
				defer lance.Contain(func(contained error) { err = contained })
				hold, err := memory.Take(ctx, storageRoom+int64(8*len(k.columns)))
				if err != nil {
					return err
				}
				defer hold.Release()
				columns, size, err := f.StoredBytes(ctx, s.Schema().Fields)
				if err != nil {
					return err
				}
				adding.Lock()
				defer adding.Unlock()
				k.read += size
				for i, bytes := range columns {
					k.columns[i] += bytes
				}
				return nil
			})
		}
	}
	return group.Wait()
}
