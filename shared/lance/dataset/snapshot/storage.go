package snapshot

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/process/memory"
)

// Storage describes how many bytes the columns of a version take in its data files.
type Storage struct {
	Columns []int64 // bytes per column of the schema, in order, including nested fields
	Bytes   int64   // of all data files
	// Other is the part of Bytes outside of the table's columns: blob contents, file metadata,
	// dropped columns, and files of kinds that were not sampled.
	Other int64
	Files int // data files of the version
	Read  int // files whose metadata was read; if fewer than Files, Columns is an estimate
}

const (
	// storageFanOut is how many files are read in parallel.
	storageFanOut = 16
	// storageRoom is the approximate memory of one file's metadata during its read.
	storageRoom = 256 << 10
	// perFile and perKind are the memory per file and per kind, without the kind's field list.
	perFile, perKind = 128, 512
)

// Storage reads the metadata of at most limit data files. If the version has more, it samples each
// kind of file (files with the same columns) evenly and extrapolates.
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
		// Kinds are sorted by size. Each gets at least one file while the limit lasts.
		k.choose(min(left, len(k.files), max(1, len(k.files)*limit/max(total, 1))))
		left -= len(k.chosen)
		sizes.Read += len(k.chosen)
		if len(k.chosen) > 0 { // every file may be a kind of its own
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

// A fileKind groups the data files that hold the same columns.
type fileKind struct {
	files  []sizedFile
	chosen []sizedFile // files to read
	bytes  int64       // sum of all recorded file sizes
	rows   int64

	columns []int64 // sums over the chosen files; nil if there are none
	read    int64   // sum of the chosen files' sizes
}

type sizedFile struct {
	*fragment.File
	rows int64
}

// fileKinds groups the version's files by kind, largest first. The hold grows with the memory of
// the groups.
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

// choose selects n of the files at even distances.
func (k *fileKind) choose(n int) {
	for i := range n {
		k.chosen = append(k.chosen, k.files[i*len(k.files)/n])
	}
}

// whole returns the bytes of all files of the kind. It extrapolates by rows if a size is not
// recorded, as in old manifests.
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

// scaled extrapolates a column's bytes from the chosen files to all files of the kind.
func (k *fileKind) scaled(bytes, whole int64) int64 {
	if len(k.chosen) == len(k.files) || k.read == 0 {
		return bytes
	}
	return int64(float64(bytes) / float64(k.read) * float64(whole))
}

// readStorage reads the metadata of the chosen files.
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
