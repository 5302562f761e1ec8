package catalog

import (
	"context"

	"tiltyard/shared/objectstore"
)

// results tells what a batch that was committed did.
func (c *Catalog) results(ctx context.Context, b *running) []Result {
	results := make([]Result, len(b.Operations))
	_ = b.eachShare(ctx, func(ctx context.Context, s *share) error {
		for _, i := range s.operations {
			op := &b.Operations[i]
			switch {
			case op.Create != nil:
				results[i].Version = c.madeVersion(ctx, s, op.Create)
			case op.Declare != nil:
				results[i].Table = c.declared(s)
			case op.Deregister:
				results[i].Table = c.deregistered(s)
			}
		}
		return nil
	})
	return results
}

// madeVersion tells of a manifest that we put, or somebody for us.
func (c *Catalog) madeVersion(ctx context.Context, s *share, m *Manifest) objectstore.Info {
	if s.done != nil {
		if info, ok := s.done.made[m.Version]; ok {
			return info
		}
	}
	key := finalKey(s.at, m.name())
	if _, info, err := s.at.Store.GetRanges(ctx, key); err == nil {
		return info
	}
	return objectstore.Info{Key: key, Size: int64(len(m.Data)), Modified: c.now()}
}

// declared returns the table that a share has made.
func (c *Catalog) declared(s *share) *Table {
	switch {
	case s.before:
		return c.told(s.made)
	case s.done != nil && s.done.after != nil:
		return c.told(s.done.after)
	}
	return c.told(s.declare)
}

// deregistered returns the table that a share has removed.
func (c *Catalog) deregistered(s *share) *Table {
	if s.before {
		return c.told(s.gone)
	}
	return c.told(s.record)
}

// told returns the table of a record whose location was resolved before.
func (c *Catalog) told(record *tableRecord) *Table {
	table, err := c.table(record)
	if err != nil {
		return &Table{ID: record.ID, Properties: record.Properties, Location: objectstore.Location{URI: record.Location}}
	}
	return table
}
