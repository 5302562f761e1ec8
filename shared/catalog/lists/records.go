package lists

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// A child is a listed record.
type child struct {
	objectstore.Info
	view *stored.View // nil when the record is not that of a view
}

// records lists one page of records and moves opts behind it. It leaves out records whose name
// stood for no table when the page was made. If such a record has changed since, its former state
// is unknown, and records lists the page again.
func (l *Lists) records(ctx context.Context, opts *objectstore.ListOptions) (records []child, more bool, err error) {
	err = objects.Race{Tries: maxListings, Lost: errStale}.Run(ctx, func(int) (done bool, err error) {
		page, err := l.names.Store.List(ctx, *opts)
		if err != nil {
			return true, err
		}
		if records, err = l.standing(ctx, page.Objects); errors.Is(err, errStale) {
			return false, nil
		}
		if err == nil && len(page.Objects) > 0 {
			opts.StartAfter, more = page.Objects[len(page.Objects)-1].Key, page.More
		}
		return true, err
	})
	return records, more, err
}

// maxListings bounds the attempts to list a page while tables are being renamed.
const maxListings = 20

// errStale is the error for a record that has changed since it was listed.
var errStale = &protocol.Error{
	Code: protocol.ConcurrentModification, Message: "tables are renamed faster than they can be listed; retry", Detail: "retry",
}

// standing returns the records of one page whose names stood for a table or a view.
func (l *Lists) standing(ctx context.Context, listed []objectstore.Info) ([]child, error) {
	page, err := l.doubtful(ctx, listed)
	if err != nil {
		return nil, err
	}
	kept := make([]child, 0, len(listed))
	ended := map[string]stored.Outcome{} // outcomes of batches, the same for the whole page
	for _, object := range listed {
		record, stood := page[object.Key], true
		if record != nil && record.State() != stored.Standing {
			if record, stood, err = l.stood(ctx, object, page, ended); err != nil {
				return nil, err
			}
		}
		switch {
		case !stood:
		case record == nil:
			kept = append(kept, child{Info: object})
		default:
			kept = append(kept, child{object, record.View})
		}
	}
	return kept, nil
}

// doubtful reads those records of one page whose state a LIST does not show. The result has them by
// key, and has nil for the other keys of the page. It is nil if there are no such records.
func (l *Lists) doubtful(ctx context.Context, listed []objectstore.Info) (map[string]*stored.Table, error) {
	if !slices.ContainsFunc(listed, stored.InDoubt) {
		return nil, nil
	}
	page := make(map[string]*stored.Table, len(listed))
	var guard sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readFanOut)
	for _, object := range listed {
		if !stored.InDoubt(object) {
			guard.Lock()
			page[object.Key] = nil
			guard.Unlock()
			continue
		}
		group.Go(func() error {
			record, err := l.asListed(ctx, object)
			guard.Lock()
			defer guard.Unlock()
			page[object.Key] = record
			return err
		})
	}
	return page, group.Wait()
}

// readFanOut bounds how many records of one page are read in parallel.
const readFanOut = 16

// stood reports whether the name of an unsettled record stood for a table when its page was made,
// and returns the record that is there now. It settles the record.
func (l *Lists) stood(ctx context.Context, object objectstore.Info, page map[string]*stored.Table, ended map[string]stored.Outcome) (*stored.Table, bool, error) {
	record := page[object.Key]
	if record.Pending != nil {
		return l.stoodPending(ctx, object, record, ended)
	}
	there := false
	origin, here := page[keys.Table(record.RenamedFrom)]
	if record.Arriving != nil && origin != nil {
		there = origin.MovedTo(record)
	}
	now, err := l.names.Settled(ctx, record.ID)
	if record.Arriving != nil && !here {
		there = now.Record != nil // the record at its old name is not on this page, so the present state counts
	}
	return record, there, err
}

// stoodPending does the same for a table that a batch makes or removes.
func (l *Lists) stoodPending(ctx context.Context, object objectstore.Info, record *stored.Table, ended map[string]stored.Outcome) (*stored.Table, bool, error) {
	p := record.Pending
	now, known := ended[p.Batch]
	if !known {
		d, err := l.names.DecisionOf(ctx, p.Batch)
		if err != nil {
			return nil, false, err
		}
		now = d.Outcome
		ended[p.Batch] = now
	}
	if now == stored.Undecided { // if the batch is still in the record: see settleBatch
		if _, err := l.asListed(ctx, object); err != nil {
			return nil, false, err
		}
	}
	if now == stored.Committed && p.Gone {
		return p.Then, p.Then != nil, nil
	}
	return record, now == stored.Committed || !p.New, nil
}

// asListed reads a record that was listed. It returns errStale if the record has changed.
func (l *Lists) asListed(ctx context.Context, object objectstore.Info) (*stored.Table, error) {
	var record stored.Table
	etag, found, err := l.names.Store.Find(ctx, object.Key, &record)
	if err == nil && (!found || etag != object.ETag) {
		return nil, errStale
	}
	return &record, err
}
