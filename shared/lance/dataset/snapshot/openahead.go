package snapshot

import (
	"context"
	"sync"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// maxOpenedAhead bounds the fragments whose files are opened before it is known which ones hold
// wanted rows.
const maxOpenedAhead = 16

// OpenAhead starts to open the data files of some columns, for example while the caller searches an
// index for the wanted rows. The returned function waits until they are open. It reports no error:
// the caller may not need the file, and reading the rows repeats the error. In a version with more
// than 16 fragments OpenAhead does nothing.
func (s *Snapshot) OpenAhead(ctx context.Context, columns []string) (wait func()) {
	p, err := s.Project(columns)
	if err != nil {
		return func() {}
	}
	return s.openAhead(ctx, p.fields())
}

func (s *Snapshot) openAhead(ctx context.Context, fields []*schema.Field) (wait func()) {
	var opening sync.WaitGroup
	fragments := s.fragments()
	if len(fragments) > maxOpenedAhead {
		return opening.Wait
	}
	for _, f := range fragments {
		if f.Ready() {
			continue
		}
		opening.Go(func() {
			defer lance.Contain(func(error) {})
			_, _ = f.RowBytes(ctx, fields) // this opens the files
		})
	}
	return opening.Wait
}

// IsNear reports whether the table is on local storage.
func (s *Snapshot) IsNear() bool { return objectstore.Near(s.place.Store) }
