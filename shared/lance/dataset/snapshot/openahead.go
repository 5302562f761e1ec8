package snapshot

import (
	"context"
	"sync"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
)

// maxOpenedAhead is the number of fragments up to which their files are opened before it is known
// which of them have rows that are wanted.
const maxOpenedAhead = 16

// OpenAhead begins to open the data files that have some columns, while the caller asks an index, for
// example, which rows it wants of them. The returned function waits until they are open. It reports no
// error, because the caller may not need the file; reading the rows reports it. In a version of many
// fragments, few of which may have wanted rows, OpenAhead does nothing.
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
			_, _ = f.RowBytes(ctx, fields) // which opens the files
		})
	}
	return opening.Wait
}

// IsNear reports whether the table's storage is as near as a disk of the machine.
func (s *Snapshot) IsNear() bool { return objectstore.Near(s.place.Store) }
