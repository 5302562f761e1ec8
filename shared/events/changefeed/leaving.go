package changefeed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/record"
)

// After a drop, nothing in the catalog shows that a table existed. So a record is written before an object loses its name:
//
//	event-leaving/<lineage>-<hash>    {"kind": …, "lineage": …, "id": …, "to": …, "at": …}
//
// A poll of a lineage reads its records, and looks for the object under each id in them and in the mark. The object was
// dropped if it has none of these names and no further record appeared in the meantime, because it could not have got
// another name without one. A running rename may still give the object a name that was checked before, so a poll waits
// until every recorded rename must have ended.

// A leaving is the value of such a record.
type leaving struct {
	naming.Leaving
	At time.Time `json:"at"`
}

const (
	// leavingAge is the age from which the record of an object that kept its name is deleted. No
	// request takes that long.
	leavingAge = time.Hour
	// renameTime bounds the duration of a rename.
	renameTime = naming.RenameLease + time.Minute
	// maxLeaving bounds the records of one lineage that a poll reads.
	maxLeaving = 100
)

// watch is notified by the catalog: it records drops before they happen, and schedules polls.
type watch struct{ *Announcer }

// Leaves announces the changes of an object up to now, and records that the object is about to lose
// its name.
func (w watch) Leaves(ctx context.Context, l naming.Leaving) error {
	ctx = auth.Unlimited(ctx)
	if err := w.announceBefore(ctx, l); err != nil {
		return fmt.Errorf("announce changes: %w", err)
	}
	value, err := json.Marshal(leaving{l, w.Outbox.Now().UTC()})
	if err != nil {
		return fmt.Errorf("encode a change: %w", err)
	}
	sum := sha256.Sum256([]byte(protocol.JoinID(l.ID, protocol.DefaultDelimiter) + "\x00" + protocol.JoinID(l.To, protocol.DefaultDelimiter)))
	r := record.Record{Key: leavingFolder + "/" + l.Lineage + "-" + hex.EncodeToString(sum[:8]), Value: value}
	for range maxLeaving {
		if _, err = w.Outbox.Records.Put(ctx, r); !errors.Is(err, record.ErrConflict) {
			break
		}
		there, err := w.Outbox.Records.Get(ctx, r.Key)
		if err == nil {
			err = there.Decode(new(leaving)) // fails for a record of a newer release, which must stay
		}
		if err != nil && !errors.Is(err, record.ErrNotExist) {
			return err
		}
		r.Version = there.Version
	}
	return err
}

// announceBefore announces the changes of an object that is about to lose its name. The name of a
// dropped object is not visible to requests; for it, announceBefore announces the drop.
func (a *Announcer) announceBefore(ctx context.Context, l naming.Leaving) error {
	if !keys.IsDropped(l.ID) {
		return a.announceLast(ctx, l.Kind, l.ID)
	}
	left, err := a.leavings(ctx, l.Lineage)
	if err != nil {
		return err
	}
	return a.announceDrop(ctx, l.Kind, l.Lineage, left)
}

// announceLast announces all changes of an object that may be dropped next. It skips unreadable commits, because it must
// be possible to drop a damaged table.
func (a *Announcer) announceLast(ctx context.Context, kind keys.Kind, id []string) error {
	if kind == keys.Namespaces {
		return a.Namespace(ctx, id)
	}
	err := a.Family(ctx, id)
	if err != nil && ctx.Err() == nil {
		err = a.announceTable(ctx, id, lines{})
	}
	return err
}

// announceObject announces the changes of an object.
func (a *Announcer) announceObject(ctx context.Context, kind keys.Kind, id []string) error {
	if kind == keys.Namespaces {
		return a.Namespace(ctx, id)
	}
	return a.Table(ctx, id)
}

// Left schedules a poll of a lineage. The message may be lost.
func (w watch) Left(ctx context.Context, l naming.Leaving) {
	w.suggest(ctx, LeftKind, []string{l.Lineage}, announceAfter)
}

// Changed schedules a poll of a table or a namespace.
func (w watch) Changed(ctx context.Context, kind keys.Kind, id []string) {
	switch {
	case keys.IsDropped(id):
	case kind == keys.Namespaces:
		w.suggest(ctx, NamespaceKind, id, announceAfter)
	default:
		w.suggest(ctx, TableKind, id, announceAfter)
	}
}

// Committed schedules a poll of a branch of a table.
func (w watch) Committed(ctx context.Context, id []string, branch string) {
	if !keys.IsDropped(id) {
		w.suggest(ctx, BranchKind, append(slices.Clip(id), branch), announceAfter)
	}
}

// Left announces the drop of an object or, if the object still exists, its changes.
func (a *Announcer) Left(ctx context.Context, lineage string) error {
	ctx = auth.Unlimited(ctx)
	before, err := a.leavings(ctx, lineage)
	if err != nil {
		return err
	}
	kind, ids, err := a.namesOf(ctx, lineage, before)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, id := range ids {
		stands, err := a.stands(ctx, kind, lineage, id)
		if err == nil && stands {
			err = a.announceObject(ctx, kind, id)
			if err == nil {
				err = a.forgetLeavings(ctx, before, a.Outbox.Now().Add(-leavingAge))
			}
		}
		if err != nil || stands {
			return err
		}
	}
	// The object has none of its known names. Check that it did not get another one meanwhile, and that no
	// running rename may give it one.
	after, err := a.leavings(ctx, lineage)
	if err != nil {
		return err
	}
	same := maps.EqualFunc(before, after, func(a, b leavingRecord) bool { return a.Version == b.Version })
	for _, r := range after {
		if len(r.To) > 0 && !keys.IsDropped(r.To) && a.Outbox.Now().Sub(r.At) < renameTime {
			same = false
		}
	}
	// Look again when the rename must have ended.
	if !same {
		a.suggest(ctx, LeftKind, []string{lineage}, renameTime)
		return nil
	}
	if err := a.announceDrop(ctx, kind, lineage, after); err != nil {
		return err
	}
	return a.forgetLeavings(ctx, after, a.Outbox.Now())
}

// A leavingRecord is a decoded record of package naming's Leaving.
type leavingRecord struct {
	leaving
	record.Record
}

// leavings returns the records of a lineage by key.
func (a *Announcer) leavings(ctx context.Context, lineage string) (map[string]leavingRecord, error) {
	page, err := a.Outbox.Records.List(ctx, leavingFolder, lineage, maxLeaving)
	if err != nil {
		return nil, err
	}
	found := map[string]leavingRecord{}
	for _, r := range page.Records {
		// The list begins with the lineage's records, and others follow.
		if !strings.HasPrefix(r.Key, leavingFolder+"/"+lineage+"-") {
			break
		}
		one := leavingRecord{Record: r}
		if err := r.Decode(&one.leaving); err != nil {
			return nil, err
		}
		found[r.Key] = one
	}
	return found, nil
}

// namesOf returns the ids that the object of a lineage may have, the id in the mark last.
func (a *Announcer) namesOf(ctx context.Context, lineage string, left map[string]leavingRecord) (kind keys.Kind, ids [][]string, err error) {
	add := func(k keys.Kind, id []string) {
		kind = k
		if len(id) > 0 && !keys.IsDropped(id) && !slices.ContainsFunc(ids, func(other []string) bool { return slices.Equal(id, other) }) {
			ids = append(ids, id)
		}
	}
	// Old and new names of each leaving, in a stable order.
	for _, key := range slices.Sorted(maps.Keys(left)) {
		add(left[key].Kind, left[key].ID)
		add(left[key].Kind, left[key].To)
	}
	text, err := a.Outbox.Mark(ctx, markKey(lineage))
	if text == nil || err != nil {
		return kind, ids, err
	}
	m, err := parseMark(lineage, text)
	if err != nil {
		return "", nil, err
	}
	add(m.Kind, m.ID)
	return kind, ids, nil
}

// stands reports whether an id refers to the object of a lineage.
func (a *Announcer) stands(ctx context.Context, kind keys.Kind, lineage string, id []string) (bool, error) {
	if kind == keys.Namespaces {
		found, err := a.Names.Namespaces.Get(ctx, id)
		if isGone(err) {
			return false, nil
		}
		return err == nil && found.UID == lineage, err
	}
	found, err := a.Names.Table(ctx, id)
	if isGone(err) {
		return false, nil
	}
	return err == nil && found.Lineage == lineage, err
}

// eventsOf are the types of events by the kind of object.
var eventsOf = map[keys.Kind]struct{ created, dropped eventapi.Type }{
	keys.Tables:     {eventapi.TableCreated, eventapi.TableDropped},
	keys.Namespaces: {eventapi.NamespaceCreated, eventapi.NamespaceDropped},
}

// announceDrop announces that an object was dropped.
func (a *Announcer) announceDrop(ctx context.Context, kind keys.Kind, lineage string, left map[string]leavingRecord) error {
	var last leaving
	// Use the latest record, except records about the hidden names of dropped objects.
	for _, r := range left {
		if r.At.After(last.At) && !keys.IsDropped(r.ID) {
			last = r.leaving
		}
	}
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil {
		return err
	}
	_, err = a.Outbox.Announce(ctx, markKey(lineage), func(text json.RawMessage) (outbox.News, error) {
		d, was, err := draftOf(text, kind, lineage, last.ID)
		if err != nil || was != nil && was.Dropped || was == nil && last.ID == nil {
			return outbox.News{}, err
		}
		// The object was created and dropped between two polls, so announce both.
		if was == nil && !last.Created.Before(since) {
			d.add(eventsOf[kind].created, "created", last.Created, eventapi.Data{})
		}
		d.mark.Dropped = true
		d.turn(eventsOf[kind].dropped, "dropped", last.At, eventapi.Data{Version: int64(d.mark.Version)})
		return d.result(was, a.Outbox.Now()), nil
	})
	return err
}

// forgetLeavings deletes the records that are not later than before.
func (a *Announcer) forgetLeavings(ctx context.Context, left map[string]leavingRecord, before time.Time) error {
	for key, r := range left {
		if r.At.After(before) {
			continue
		}
		if err := a.Outbox.Records.Delete(ctx, key, r.Version); err != nil && !errors.Is(err, record.ErrConflict) {
			return err
		}
	}
	return nil
}

// listSize is the number of records per page.
const listSize = 100

// Leaving pages through the lineages of objects that were about to lose a name. after is the end of the previous page, ""
// for the first; next is "" at the end.
func (a *Announcer) Leaving(ctx context.Context, after string) (lineages []string, next string, err error) {
	page, err := a.Outbox.Records.List(ctx, leavingFolder, after, listSize)
	if err != nil {
		return nil, "", err
	}
	for _, r := range page.Records {
		_, name := record.SplitKey(r.Key)
		lineage, _, _ := strings.Cut(name, "-")
		if len(lineages) == 0 || lineages[len(lineages)-1] != lineage {
			lineages = append(lineages, lineage)
		}
	}
	return lineages, page.Next, nil
}

// Vanished pages through the lineages of objects that no longer have their announced id, although no drop was announced.
// It continues after an object that cannot be read.
func (a *Announcer) Vanished(ctx context.Context, after string) (lineages []string, next string, err error) {
	ctx = auth.Unlimited(ctx)
	marks, next, err := a.Outbox.Marks(ctx, marksFolder, after, listSize)
	if err != nil {
		return nil, "", err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	const atOnce = 8
	group.SetLimit(atOnce)
	for _, m := range marks {
		group.Go(func() error {
			_, lineage := record.SplitKey(m.Key)
			vanished, err := a.hasVanished(ctx, lineage, m)
			if err != nil && ctx.Err() == nil {
				a.Logger.Warn("could not find out whether an object was dropped", "record", m.Key, "error", err)
				return nil
			}
			if vanished {
				mu.Lock()
				defer mu.Unlock()
				lineages = append(lineages, lineage)
			}
			return err
		})
	}
	return lineages, next, group.Wait()
}

// hasVanished reports whether an object no longer has its announced id, although no drop was
// announced.
func (a *Announcer) hasVanished(ctx context.Context, lineage string, of outbox.Mark) (bool, error) {
	if of.Err != nil {
		return false, of.Err
	}
	m, err := parseMark(lineage, of.Text)
	if err != nil || m.Dropped {
		return false, err
	}
	stands, err := a.stands(ctx, m.Kind, lineage, m.ID)
	return !stands, err
}
