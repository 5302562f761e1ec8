package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A batch makes versions of several tables, all of them or none. Its entries are put in the
// ledgers of the tables (ledger.go), where the name of the batch says that they are not to
// be made yet. Then one object is put, if it is absent, which says how the batch ended:
//
//	_batches/<batch>    "committed" or "aborted"
//
// That is the commit point. Of two who put it one wins, and nobody ever changes it: so what
// became of a batch is the same for all, for good. While there is none the batch has not been
// decided, and its entries mean nothing. Whoever reads the record of a table with entries
// of a batch reads that object too, and when the batch
//
//   - was committed: puts the manifests at their usual names and then takes the name of the
//     batch out of the ledger, before he looks at the table's versions;
//   - was aborted: takes the entries out of the ledger;
//   - is undecided: leaves them, or, when the maker of the batch has not been heard of for its
//     lease, aborts it.
//
// A maker that was thought dead finds his batch aborted, and a maker of a batch that
// committed may die at once: whoever comes to one of its tables does the rest there.
//
// A table without a ledger gets one with the entry. Writers that have looked at its record
// before do not know; the batch therefore looks once more, just before it is decided,
// whether one of them has made the version, or anybody who writes past the catalog. What is
// put in spite of all that between this look and the last of the batch gives way to it:
// that window is the only one, and no request to storage could close it.
//
// A process that may only read cannot do what is left of a batch that was committed and
// whose maker died; its reads of those tables fail until one that may write comes along.

// An outcome is how a batch ended.
type outcome string

const (
	undecided outcome = ""
	committed outcome = "committed"
	aborted   outcome = "aborted"
)

const (
	batchesPrefix = "_batches/"
	batchLease    = 15 * time.Second
	batchFanOut   = 32
	// finishTime is allowed for what is left to do once a batch is decided.
	finishTime = 30 * time.Second
)

// outcomeOf reads how a batch ended.
func (c *Catalog) outcomeOf(ctx context.Context, batch string) (outcome, error) {
	data, _, err := c.store.Get(ctx, batchesPrefix+batch)
	switch got := outcome(data); {
	case errors.Is(err, objectstore.ErrNotExist):
		return undecided, nil
	case err != nil:
		return undecided, fmt.Errorf("read outcome of batch: %w", err)
	case got != committed && got != aborted:
		return undecided, fmt.Errorf("outcome of batch %s is %.20q", batch, got)
	default:
		return got, nil
	}
}

// decide ends a batch as wanted, unless it has been decided before, and returns how it ended.
func (c *Catalog) decide(ctx context.Context, batch string, want outcome) (outcome, error) {
	for attempt := 1; ; attempt++ {
		_, err := c.store.Put(ctx, batchesPrefix+batch, []byte(want), objectstore.Condition{IfAbsent: true})
		if err == nil {
			return want, nil
		}
		if !errors.Is(err, objectstore.ErrPrecondition) && !errors.Is(err, objectstore.ErrUnknownOutcome) {
			return undecided, fmt.Errorf("decide batch: %w", err)
		}
		got, read := c.outcomeOf(ctx, batch)
		if got != undecided {
			return got, nil
		}
		if read != nil || attempt == settleAttempts {
			return undecided, unsettled(errors.Join(err, read))
		}
	}
}

// awaitBatch waits for a batch that a writer cannot go past.
func (c *Catalog) awaitBatch(ctx context.Context, l *ledger, attempt int) error {
	const longest = 100 * time.Millisecond
	left := max(0, l.Until.Sub(c.now()))
	return sleep(ctx, min(dropPause<<min(attempt, 10), longest, left+dropPause))
}

// settleBatch does what is left of a batch, met in the record of a table, which it returns as
// it is then. An error that is gone asks to read the record again.
func (c *Catalog) settleBatch(ctx context.Context, record *tableRecord, etag string) (*tableRecord, string, error) {
	l := record.Ledger
	if l == nil || l.Batch == "" {
		return record, etag, nil
	}
	ended, err := c.outcomeOf(ctx, l.Batch)
	if err == nil && ended == undecided && !c.now().Before(l.Until) {
		ended, err = c.decide(ctx, l.Batch, aborted)
	}
	if err != nil || ended == undecided {
		return record, etag, err
	}
	_, after, now, err := c.finish(ctx, record, etag, ended)
	if err != nil && !gone(err) && after != nil {
		return after, etag, nil // the write was a service to the next caller
	}
	return after, now, err
}

// finish makes the versions of a batch that was committed, and takes the batch out of the
// ledger. It returns the manifests and the record as it is then, which is nil when the
// versions could not be made.
func (c *Catalog) finish(ctx context.Context, record *tableRecord, etag string, ended outcome) ([]objectstore.Info, *tableRecord, string, error) {
	var infos []objectstore.Info
	after := *record
	if ended == committed {
		table, err := c.table(record)
		if err != nil {
			return nil, nil, "", err
		}
		for _, e := range record.Ledger.Next {
			info, err := c.place(ctx, table.Location, e, nil, true)
			if errors.Is(err, objectstore.ErrNotExist) {
				continue // somebody made it before us, and somebody deleted it
			}
			if err != nil {
				return nil, nil, "", fmt.Errorf("make version %d of table %s, which a batch made: %w", e.Version, display(record.ID), err)
			}
			infos = append(infos, info)
		}
		after.Ledger = record.Ledger.settled()
	} else {
		after.Ledger = record.Ledger.without()
	}
	now, err := c.write(ctx, tableKey(record.ID), &after, objectstore.Condition{IfMatch: etag})
	if err == nil && ended == aborted {
		c.deleteCopies(ctx, record.Ledger.Next)
	}
	return infos, &after, now, err
}

// settled is the ledger once its batch was committed, and its versions made.
func (l *ledger) settled() *ledger {
	made := *l
	made.Batch, made.Until = "", time.Time{}
	made.Batches++
	made.Kept = true
	return &made
}

// without is the ledger once its batch was aborted: as it was before it.
func (l *ledger) without() *ledger {
	if !l.Kept {
		return nil
	}
	before := *l
	before.Next, before.Batch, before.Until = nil, "", time.Time{}
	return &before
}

// A BatchEntry is a version that a batch is to make.
type BatchEntry struct {
	ID []string // of the table
	Manifest
}

// A share is what a batch does to one table.
type share struct {
	id      []string
	entries []int // of the batch, by version
	next    []entry
	at      objectstore.Location
	record  *tableRecord // with the entries of the batch
	etag    string
	before  bool // all of it was made before, by the same batch
}

// CommitBatch makes the versions of all entries, or none, and returns their manifests in the
// order of the entries. Several entries of one table are versions one after the other. An
// error is that of the first entry that has one, and names it. Entries that were all made
// before, from the same sources, are made again by doing nothing.
func (c *Catalog) CommitBatch(ctx context.Context, entries []BatchEntry) ([]objectstore.Info, error) {
	shares := sharesOf(entries)
	if err := c.putCopies(ctx, entries, shares); err != nil {
		c.retreat(context.WithoutCancel(ctx), shares)
		return nil, err
	}
	batch := newUID()
	err := eachShare(ctx, shares, func(ctx context.Context, s *share) error {
		return c.enter(ctx, batch, entries, s)
	})
	if err == nil && slices.ContainsFunc(shares, func(s *share) bool { return !s.before }) {
		err = c.commitEntered(ctx, batch, entries, shares)
	}
	finishing, done := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer done()
	if err != nil {
		if protocol.CodeOf(err) != protocol.ServiceUnavailable { // else it may have been committed
			c.retreat(finishing, shares)
		}
		return nil, err
	}
	return c.finishAll(finishing, batch, entries, shares), nil
}

// sharesOf sorts entries by table.
func sharesOf(entries []BatchEntry) []*share {
	var shares []*share
	byTable := map[string]*share{}
	for i, e := range entries {
		s := byTable[tableKey(e.ID)]
		if s == nil {
			s = &share{id: e.ID}
			byTable[tableKey(e.ID)] = s
			shares = append(shares, s)
		}
		s.entries = append(s.entries, i)
	}
	for _, s := range shares {
		slices.SortStableFunc(s.entries, func(a, b int) int { return int(int64(entries[a].Version) - int64(entries[b].Version)) })
	}
	return shares
}

// eachShare does work for all shares, several at a time, and returns the error of the first.
func eachShare(ctx context.Context, shares []*share, work func(context.Context, *share) error) error {
	errs := make([]error, len(shares))
	var group errgroup.Group
	group.SetLimit(batchFanOut)
	for i, s := range shares {
		group.Go(func() error {
			errs[i] = work(ctx, s)
			return nil
		})
	}
	_ = group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// putCopies keeps the manifests where others find them.
func (c *Catalog) putCopies(ctx context.Context, entries []BatchEntry, shares []*share) error {
	return eachShare(ctx, shares, func(ctx context.Context, s *share) error {
		for _, i := range s.entries {
			m := entries[i].Manifest
			e := entry{Version: m.Version, Name: m.name(), Source: m.Source}
			if m.Data != nil {
				var err error
				if e.Copy, err = c.putCopy(ctx, m); err != nil {
					return err
				}
			}
			s.next = append(s.next, e)
		}
		return nil
	})
}

// enter puts the entries of a batch in the ledger of a table.
func (c *Catalog) enter(ctx context.Context, batch string, entries []BatchEntry, s *share) error {
	for attempt := range claimAttempts {
		record, etag, err := c.tableRecord(ctx, s.id)
		if err != nil {
			return inBatch(s, 0, err)
		}
		l := record.Ledger
		if l != nil && l.Batch == batch { // the answer was lost
			s.record, s.etag = record, etag
			return nil
		}
		if l != nil && l.Batch != "" {
			if err := c.goPast(ctx, batch, l, attempt); err != nil {
				return inBatch(s, 0, err)
			}
			continue
		}
		if l == nil {
			l = &ledger{}
		}
		if s.before, err = c.checkEntries(ctx, record, l, entries, s); err != nil || s.before {
			return err
		}
		entered := *record
		entered.Ledger = l.with(s.next...)
		entered.Ledger.Batch, entered.Ledger.Until = batch, c.now().Add(batchLease).UTC()
		etag, err = c.write(ctx, tableKey(s.id), &entered, objectstore.Condition{IfMatch: etag})
		if err == nil {
			s.record, s.etag = &entered, etag
			return nil
		}
		if !gone(err) {
			return inBatch(s, 0, err)
		}
	}
	return inBatch(s, 0, lostRace("table", s.id, objectstore.ErrPrecondition))
}

// goPast waits for another batch, or ends it when ours comes first: by their names, so that no
// two batches wait for each other.
func (c *Catalog) goPast(ctx context.Context, batch string, l *ledger, attempt int) error {
	if batch < l.Batch {
		_, err := c.decide(ctx, l.Batch, aborted)
		return err
	}
	return c.awaitBatch(ctx, l, attempt)
}

// checkEntries says whether the entries may come next, or were made before.
func (c *Catalog) checkEntries(ctx context.Context, record *tableRecord, l *ledger, entries []BatchEntry, s *share) (before bool, err error) {
	table, err := c.table(record)
	if err != nil {
		return false, err
	}
	s.at = table.Location
	newest, err := c.catchUp(ctx, s.at, l)
	if err != nil {
		return false, inBatch(s, 0, err)
	}
	known := 0
	for n, i := range s.entries {
		m := entries[i].Manifest
		switch {
		case l.has(m) && m.Version <= newest:
			known++
		case m.Version != newest+1+uint64(n):
			return false, inBatch(s, n, notNext(s.id, m.Version, newest))
		case m.Data == nil:
			return false, inBatch(s, n, m.errNoSource())
		}
	}
	if known > 0 && known < len(s.entries) {
		return false, inBatch(s, known, notNext(s.id, entries[s.entries[known]].Version, newest))
	}
	return known > 0, nil
}

// inBatch says which entry an error is about.
func inBatch(s *share, n int, err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("entry %d of the batch: %w", s.entries[n], err)
	}
	named := *known
	named.Message = fmt.Sprintf("entry %d of the batch: %s", s.entries[n], known.Text())
	named.Object = ""
	return &named
}

// commitEntered decides a batch whose entries are all in the ledgers.
func (c *Catalog) commitEntered(ctx context.Context, batch string, entries []BatchEntry, shares []*share) error {
	if err := eachShare(ctx, shares, func(ctx context.Context, s *share) error { return c.lookAgain(ctx, entries, s) }); err != nil {
		return err
	}
	switch ended, err := c.decide(ctx, batch, committed); {
	case err != nil:
		return unsettled(err)
	case ended == aborted:
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "the batch was ended by another writer of one of its tables",
			Detail: "none of its versions was made; read the tables again and retry",
		}
	}
	return nil
}

// lookAgain refuses what was made by another batch before, in part, and what has been made
// by writers that do not heed the ledger.
func (c *Catalog) lookAgain(ctx context.Context, entries []BatchEntry, s *share) error {
	if s.before {
		return inBatch(s, 0, notNext(s.id, entries[s.entries[0]].Version, entries[s.entries[0]].Version))
	}
	newest, err := newestVersion(ctx, s.at)
	if err == nil && newest >= s.next[0].Version {
		err = notNext(s.id, s.next[0].Version, newest)
	}
	if err != nil {
		return inBatch(s, 0, err)
	}
	return nil
}

// retreat takes the entries of a batch that will not be committed out of the ledgers, as far
// as they are still there.
func (c *Catalog) retreat(ctx context.Context, shares []*share) {
	_ = eachShare(ctx, shares, func(ctx context.Context, s *share) error {
		if s.record != nil {
			_, _, _, _ = c.finish(ctx, s.record, s.etag, aborted)
		} else {
			c.deleteCopies(ctx, s.next)
		}
		c.lookups.Invalidate(tableKey(s.id))
		return nil
	})
}

// deleteCopies deletes the copies of manifests that nobody will need. What it fails at is
// garbage.
func (c *Catalog) deleteCopies(ctx context.Context, entries []entry) {
	for _, e := range entries {
		if e.Copy != "" {
			_ = c.store.Delete(ctx, e.Copy, objectstore.Condition{})
		}
	}
}

// finishAll makes the versions of a batch that was committed. What it fails at is done by
// whoever comes to the table; then the object that says so has to stay.
func (c *Catalog) finishAll(ctx context.Context, batch string, entries []BatchEntry, shares []*share) []objectstore.Info {
	made := make([]objectstore.Info, len(entries))
	err := eachShare(ctx, shares, func(ctx context.Context, s *share) error {
		var infos []objectstore.Info
		var err error
		if s.record != nil {
			infos, _, _, err = c.finish(ctx, s.record, s.etag, committed)
		} else {
			c.deleteCopies(ctx, s.next)
		}
		c.lookups.Invalidate(tableKey(s.id))
		for n, i := range s.entries {
			if n < len(infos) {
				made[i] = infos[n]
				continue
			}
			made[i] = c.manifestOf(ctx, s, n, int64(len(entries[i].Data)))
		}
		return err
	})
	if err == nil {
		_ = c.store.Delete(ctx, batchesPrefix+batch, objectstore.Condition{}) // nobody will ask
	}
	return made
}

// manifestOf tells of a manifest that somebody else put, or will put.
func (c *Catalog) manifestOf(ctx context.Context, s *share, n int, size int64) objectstore.Info {
	key := finalKey(s.at, s.next[n].Name)
	if _, info, err := s.at.Store.GetRanges(ctx, key); err == nil {
		return info
	}
	return objectstore.Info{Key: key, Size: size, Modified: c.now()}
}
