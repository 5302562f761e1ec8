package data

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A nameProbe finds out whether the name of a new table is free, while its rows are read.
type nameProbe struct {
	done     chan struct{}
	err      error          // why the name cannot be had; set before done
	declared *catalog.Table // the table that was declared under it; set before done
}

// probe begins to look.
func (s *Service) probe(ctx context.Context, id []string) *nameProbe {
	p := &nameProbe{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		there, err := s.tables.Names.Table(ctx, id)
		switch {
		case err != nil && protocol.CodeOf(err) == protocol.TableNotFound:
			return
		case err != nil:
			p.err = err
			return
		}
		filled, err := s.tables.At(there).HasData(ctx)
		if err == nil && filled {
			err = catalog.TableExists(id)
		}
		p.err, p.declared = err, there
	}()
	return p
}

// free waits for the answer: nil when the name can be had.
func (p *nameProbe) free() error {
	<-p.done
	return p.err
}

// guard ends a stream of rows as soon as the name is known to be taken.
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
