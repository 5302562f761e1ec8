package table

import (
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/storage/objectstore"
)

// Bounds of the work for one page of found tables. A page that reaches one of them ends early.
const (
	maxFound        = 1000 // tables in the answer
	maxFoundLists   = 20   // LIST requests, each of 1,000 catalog records
	maxFoundReads   = 500  // tables whose record, manifest or tags are read
	maxFoundColumns = 500_000
	maxFoundBytes   = 1 << 20 // bytes of matches in the answer
	maxFoundTime    = 5 * time.Second
	// findTogether is the number of tables that are read before the results are counted again.
	findTogether = 4 * maxChecks
)

// Find returns the tables inside a namespace that meet all conditions and that the caller may see. Conditions on names
// need only the lists of the catalog. The others need the record of each table whose name matches; conditions on tags also
// need a LIST, and conditions on columns and comments the manifest of the newest version.
func (s *Service) Find(ctx context.Context, req *tableapi.FindRequest) (*tableapi.FindResponse, error) {
	limit := maxFound
	if bound, ok := req.Bound(); ok {
		limit = int(min(bound, maxFound))
	}
	position, err := s.openPosition(ctx, req.PageToken)
	if err != nil {
		return nil, err
	}
	walk, err := s.tables.Names.Lists.Walk(ctx, req.NamespaceID, position)
	if err != nil || limit == 0 {
		return &tableapi.FindResponse{}, err
	}
	f := &finder{service: s, walk: walk, conditions: newConditions(req), limit: limit, until: s.tables.Now().Add(maxFoundTime)}
	position, err = f.run(ctx)
	if err != nil {
		return nil, err
	}
	f.answer.PageToken, err = s.sealPosition(ctx, position)
	return &f.answer, err
}

// A finder finds the tables of one page.
type finder struct {
	service    *Service
	walk       *lists.Walk
	conditions *conditions
	limit      int
	until      time.Time

	lists, reads, columns, bytes int // work done so far
	answer                       tableapi.FindResponse
}

// run fills the answer. It returns the position at which the next page begins, "" at the end.
func (f *finder) run(ctx context.Context) (position string, err error) {
	for !f.walk.Done() {
		if f.lists == maxFoundLists || f.lists > 0 && f.spent() {
			return f.walk.Position(), nil
		}
		f.lists++
		listed, err := f.walk.Next(ctx)
		if err != nil {
			return "", err
		}
		fit := listed[:0]
		for _, one := range listed {
			if f.conditions.mayMeet(one.ID) {
				fit = append(fit, one)
			}
		}
		for len(fit) > 0 {
			now := fit[:min(len(fit), findTogether)]
			last, err := f.check(ctx, now)
			if err != nil {
				return "", err
			}
			// Stop in the middle of the listed records: the position of the last processed one continues there.
			full := len(f.answer.Tables) == f.limit || f.bytes >= maxFoundBytes || f.reads > 0 && f.spent()
			if last < len(now) || full && (len(fit) > len(now) || !f.walk.Done()) {
				return now[last-1].Position, nil
			}
			fit = fit[len(now):]
		}
	}
	return "", nil
}

// spent reports whether the work for this page has reached a bound.
func (f *finder) spent() bool {
	return f.reads >= maxFoundReads || f.columns >= maxFoundColumns || !f.service.tables.Now().Before(f.until)
}

// check adds matching tables to the answer until it is full. dealt is the number of processed tables.
func (f *finder) check(ctx context.Context, some []lists.Walked) (dealt int, err error) {
	parts := make([]*parts, len(some))
	if f.conditions.needRecord {
		ctx, room, err := memory.Within(ctx)
		if err != nil {
			return 0, err
		}
		defer room.Close()
		f.reads += len(some)
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxChecks)
		for i, one := range some {
			group.Go(func() (err error) {
				parts[i], err = f.read(ctx, one)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
	}
	for i, one := range some {
		p := parts[i]
		if p == nil && f.conditions.needRecord {
			continue // dropped meanwhile
		}
		if p != nil && p.unreadable != "" {
			f.answer.Unreadable = append(f.answer.Unreadable, tableapi.Unreadable{ID: one.ID, Reason: p.unreadable})
			continue
		}
		if p != nil {
			f.columns += p.columns
		}
		matches, ok := f.conditions.meet(one.ID, p)
		if !ok {
			continue
		}
		f.answer.Tables = append(f.answer.Tables, tableapi.Found{ID: one.ID, Matches: matches})
		for _, m := range matches {
			f.bytes += len(m.Name) + len(m.Value)
		}
		if len(f.answer.Tables) == f.limit || f.bytes >= maxFoundBytes {
			return i + 1, nil
		}
	}
	return len(some), nil
}

// read reads the parts of a table that the conditions need. It returns nil for a table that no
// longer exists.
func (f *finder) read(ctx context.Context, one lists.Walked) (*parts, error) {
	t, err := f.service.tables.Names.Walked(ctx, one)
	if err == nil {
		var p *parts
		if p, err = f.readData(ctx, t); err == nil {
			return p, nil
		}
	}
	var known *protocol.Error
	switch {
	case errors.Is(err, objectstore.ErrLocation):
		return &parts{unreadable: "its files lie outside of the locations that the server may read"}, nil
	case protocol.HasCode(err, protocol.TableNotFound, protocol.NamespaceNotFound):
		return nil, nil
	case protocol.HasCode(err, protocol.InvalidTableState, protocol.Unsupported) && errors.As(err, &known):
		return &parts{unreadable: known.Message}, nil
	}
	return nil, err
}

// readData reads tags and the manifest of a table as far as the conditions need them.
func (f *finder) readData(ctx context.Context, t *catalog.Table) (*parts, error) {
	c, p := f.conditions, &parts{properties: t.Properties}
	if !c.meetsProperties(p) {
		return p, nil // it fails a condition already, whatever else it has
	}
	at := f.service.tables.At(t)
	if c.needTags && auth.Permits(ctx, "ListTableTags", auth.Table(t.ID)) {
		for after, more := "", true; more; more = after != "" {
			names, next, err := at.Data().Refs().TagNames(ctx, after, 0)
			if err != nil {
				return nil, at.Translate(err)
			}
			p.tags, after = append(p.tags, names...), next
		}
	}
	if !c.needManifest || !c.meetsTag(p) {
		return p, nil
	}
	p.addComments("", p.properties, c)
	read, err := engine.Read(ctx, at, nil, func(ctx context.Context, d *dataset.Dataset) (*parts, error) {
		schema, with := d.TextSchema(), *p
		if err := memory.FromContext(ctx).Take(ctx, columnBytes*int64(count(schema.Fields()))); err != nil {
			return nil, err
		}
		with.addComments("", d.Manifest().TableMetadata, c)
		with.addComments("", schema.Metadata().ToMap(), c)
		with.addFields("", schema.Fields(), c)
		return &with, nil
	})
	if engine.IsDeclared(err) {
		return p, nil
	}
	return read, err
}

// columnBytes is the approximate memory of a column with its comments.
const columnBytes = 256

// count counts columns including nested fields.
func count(fields []arrow.Field) int {
	n := len(fields)
	for _, field := range fields {
		n += count(inside(field.Type))
	}
	return n
}
