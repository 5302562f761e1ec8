package data

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/lance/dataset"
)

// A nameProbe checks whether the name of a new table is free while the rows of the table arrive.
type nameProbe struct {
	done     chan struct{}
	err      error          // why the name is not free; set before done is closed
	declared *catalog.Table // the table declared under the name; set before done is closed
}

// probe starts the check.
func (s *Service) probe(ctx context.Context, id []string) *nameProbe {
	p := &nameProbe{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		there, err := s.tables.Names.TableOrFree(ctx, id)
		if err != nil || there == nil {
			p.err = err
			return
		}
		filled, err := s.tables.At(there).HasData(ctx)
		if err == nil && filled {
			err = naming.TableExists(id)
		}
		p.err, p.declared = err, there
	}()
	return p
}

// free waits for the check. It returns nil if the name is free.
func (p *nameProbe) free() error {
	<-p.done
	return p.err
}

// guard ends a stream of rows as soon as the check finds that the name is taken.
func (p *nameProbe) guard(rows dataset.Rows) dataset.Rows {
	all := rows.Batches
	rows.Batches = func(yield func(arrow.RecordBatch, error) bool) {
		for batch, err := range all {
			select {
			case <-p.done:
				if p.err != nil {
					yield(nil, p.err)
					return
				}
			default:
			}
			if !yield(batch, err) {
				return
			}
		}
	}
	return rows
}
