// Package changefeed compares namespaces and tables with their last announced state, and writes the differences as events to
// the outbox (package event).
//
// Each object has a mark: the name and the version that were announced last. A look compares the mark with the record and
// the versions of the object. The mark of a table also covers the versions of its branches (branches.go). Writers need not
// record their changes, with one exception: a dropped object leaves nothing to compare, so its drop is recorded before
// (leaving.go).
package changefeed

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/events/outbox/forward"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// The kinds of looks that announce changes; package publishing runs them. The object of the first is the id of a table, of
// the second the id of a table and the name of a branch, and of the third the id of a namespace. The others have the
// lineage of an object that has lost a name, and the id of a job.
const (
	TableKind     = "announce_table"
	BranchKind    = "announce_branch"
	NamespaceKind = "announce_namespace"
	LeftKind      = "announce_left"
	JobKind       = "announce_job"
)

// ForwardKind is the kind of looks that forward events; package publishing runs them.
const ForwardKind = "forward_events"

// AllKind is the kind of job that looks at all objects; package publishing runs it.
const AllKind = "announce_all"

// An Announcer announces changes. It is safe for concurrent use.
type Announcer struct {
	Names  *catalog.Catalog
	Outbox *outbox.Outbox
	Keep   time.Duration // how long events can be read
	Logger *slog.Logger
	// Forwarder sends events to a target; nil: they stay in the log.
	Forwarder *forward.Forwarder

	history History
	jobs    *jobs.Starter
	recent  *jobs.Recent
}

// Options configures an announcer.
type Options struct {
	Source  string        // of the events; empty: there is no announcer
	Keep    time.Duration // how long events can be read; not less than [outbox.MinRetention]
	Objects objectstore.Store
	Records record.Store
	Now     func() time.Time
	Logger  *slog.Logger // nil: nothing is logged
	History History      // nil: this process announces no commits and leaves them to later looks
}

// Open returns an announcer that the catalog notifies of changes, or nil if no source is configured. starter may be nil;
// looks are then left to other processes.
func Open(names *catalog.Catalog, starter *jobs.Starter, o Options) *Announcer {
	if o.Source == "" {
		return nil
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Announcer{
		Names:   names,
		Outbox:  &outbox.Outbox{Log: outbox.OpenLog(o.Objects, o.Now), Records: o.Records, Now: o.Now, Source: o.Source},
		Keep:    max(o.Keep, outbox.MinRetention),
		Logger:  o.Logger,
		history: o.History, jobs: starter, recent: jobs.NewRecent(o.Now),
	}
	names.WatchWith(watch{a})
	if starter != nil {
		starter.Transactions.WatchEnds(a.ended)
	}
	return a
}

// ForwardTo lets the workers of this process forward events to a target. It does nothing without events or a target, and
// must be called before the announcer is used.
func (a *Announcer) ForwardTo(address string, target forward.Target) {
	if a != nil && target != nil {
		a.Forwarder = &forward.Forwarder{
			Log: a.Outbox.Log, Records: a.Outbox.Records, Now: a.Outbox.Now, Logger: a.Logger, Target: target, Address: address,
		}
	}
}

// ForwardSoon schedules a job that forwards new events. One run forwards the events of a burst. The message may be lost.
func (a *Announcer) ForwardSoon(ctx context.Context) {
	if a.Forwarder != nil {
		a.suggest(ctx, ForwardKind, nil, announceAfter)
	}
}

// ForwardAfter has a worker go on with forwarding after a pause.
func (a *Announcer) ForwardAfter(ctx context.Context, pause time.Duration) {
	if a.jobs != nil {
		_ = a.jobs.Suggest(ctx, ForwardKind, nil, pause)
	}
}

// suggest has a worker look at an object after a delay. The suggestion may be lost.
func (a *Announcer) suggest(ctx context.Context, kind string, object []string, after time.Duration) {
	if a.jobs != nil && a.recent.IsDue(kind+" "+protocol.JoinID(object, protocol.DefaultDelimiter), after) {
		_ = a.jobs.Suggest(ctx, kind, object, after)
	}
}

// A History reads the versions of tables and of their branches. A nil branch is the table itself.
type History interface {
	// Commits calls f with the event data of each version after one, in order, until f returns false. It does nothing for a
	// table without versions. After an error, such as [ErrNoBranch], the caller must discard the data that f received.
	Commits(ctx context.Context, t *catalog.Table, b *Branch, after uint64, f func(at time.Time, data eventapi.Data) bool) error
	// VersionAt returns the version that a table had at a time, 0 for none.
	VersionAt(ctx context.Context, t *catalog.Table, b *Branch, at time.Time) (uint64, error)
	// Branches returns the branches of a table by name, or only the one of the given name, if there is one.
	Branches(ctx context.Context, t *catalog.Table, name string) ([]Branch, error)
}

// announceAfter is the delay of such a look. One look announces all commits of a burst.
const announceAfter = time.Second

// These are the folders of records; see package event.
const (
	marksFolder   = "event-mark"
	leavingFolder = "event-leaving"
	jobsFolder    = "event-job"
)

// A mark is how far the changes of a table or a namespace are announced.
type mark struct {
	Kind    keys.Kind `json:"kind"`
	ID      []string  `json:"id"`
	Version uint64    `json:"version,omitempty"` // of a table
	Dropped bool      `json:"dropped,omitempty"`
	Turn    int       `json:"turn,omitempty"` // counts renames, drops and restorations

	Branches map[string]branchMark `json:"branches,omitempty"` // of a table, by [Branch.key]
}

func markKey(lineage string) string { return marksFolder + "/" + lineage }

// forgetMark is how long the mark of a dropped object is kept. The object may be restored until
// then.
const forgetMark = 400 * 24 * time.Hour

// maxBatchBytes bounds the events that are announced together, which have to fit into a record.
const maxBatchBytes = 128 << 10

// A draft collects the events of an object.
type draft struct {
	mark  mark
	uid   string
	news  []eventapi.Event
	bytes int
}

// add adds an event and reports whether there is room for another one. The id must depend on the change alone, so that a
// repeated look gives the event the same id.
func (d *draft) add(kind eventapi.Type, id string, at time.Time, data eventapi.Data) bool {
	data.UID = d.uid
	if data.ID == nil {
		data.ID = d.mark.ID
	}
	subject := protocol.JoinID(data.ID, protocol.DefaultDelimiter)
	const rest = 1024
	d.bytes += rest + 4*len(subject) // the id is there twice, and longer with escapes
	d.news = append(d.news, eventapi.Event{ID: d.uid + "/" + id, Type: kind, Subject: subject, Time: at, Data: data})
	return len(d.news) < outbox.MaxBatch && d.bytes < maxBatchBytes
}

// turn adds an event that may happen more than once.
func (d *draft) turn(kind eventapi.Type, name string, at time.Time, data eventapi.Data) {
	d.mark.Turn++
	d.add(kind, fmt.Sprintf("%s/%d", name, d.mark.Turn), at, data)
}

// result returns the news that lead from a mark to the one of the draft.
func (d *draft) result(was *mark, now time.Time) outbox.News {
	if was != nil && len(d.news) == 0 && d.mark.Version == was.Version && maps.Equal(d.mark.Branches, was.Branches) {
		return outbox.News{}
	}
	news := outbox.News{Events: d.news, Mark: d.mark}
	if d.mark.Dropped {
		news.Expires = now.Add(forgetMark)
	}
	return news
}

// draftOf begins the events of an object.
func draftOf(text json.RawMessage, kind keys.Kind, lineage string, id []string) (d *draft, was *mark, err error) {
	d = &draft{uid: lineage, mark: mark{Kind: kind, ID: id}}
	if text == nil {
		return d, nil, nil
	}
	if was, err = parseMark(lineage, text); err != nil {
		return nil, nil, err
	}
	d.mark = *was
	d.mark.Branches = maps.Clone(was.Branches)
	return d, was, nil
}

func parseMark(lineage string, text json.RawMessage) (*mark, error) {
	m := new(mark)
	return m, format.Decode("mark of events of "+lineage, text, m)
}

// lines selects the sequences of versions whose commits a look announces.
type lines struct {
	main     bool   // the table itself
	branches bool   // all branches
	branch   string // this branch; "": none
}

// Table announces the changes of a table, except those of its branches.
func (a *Announcer) Table(ctx context.Context, id []string) error {
	return a.announceTable(ctx, id, lines{main: true})
}

// Branch announces the changes of a table, and the commits to one of its branches.
func (a *Announcer) Branch(ctx context.Context, id []string, name string) error {
	return a.announceTable(ctx, id, lines{main: true, branch: name})
}

// Family announces the changes of a table, and the commits to all of its branches.
func (a *Announcer) Family(ctx context.Context, id []string) error {
	return a.announceTable(ctx, id, lines{main: true, branches: true})
}

// isGone reports whether an error means that there is no such table or namespace.
func isGone(err error) bool {
	return protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound) || views.Plain(err) != nil
}

// announceTable announces the changes of a table and the commits of the selected lines. If a branch cannot be read, it
// announces the rest.
func (a *Announcer) announceTable(ctx context.Context, id []string, of lines) error {
	ctx = auth.Unlimited(ctx)
	for {
		found, err := a.Names.Table(ctx, id)
		if isGone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		more, unread, err := a.announceBatch(ctx, found, of)
		if err != nil {
			return err
		}
		if !more {
			return unread
		}
	}
}

// announceBatch announces as much about a table as fits into one batch, and reports whether there may be more. unread
// is why branches could not be read.
func (a *Announcer) announceBatch(ctx context.Context, found *catalog.Table, of lines) (more bool, unread, err error) {
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil {
		return false, nil, err
	}
	_, err = a.Outbox.Announce(ctx, markKey(found.Lineage), func(text json.RawMessage) (outbox.News, error) {
		more, unread = false, nil
		d, was, err := draftOf(text, keys.Tables, found.Lineage, found.ID)
		if err != nil {
			return outbox.News{}, err
		}
		if was != nil && (was.Dropped || !slices.Equal(was.ID, found.ID)) {
			// The name may be one of before a rename or a drop that another look has announced meanwhile.
			if stands, err := a.stands(ctx, keys.Tables, found.Lineage, found.ID); !stands || err != nil {
				return outbox.News{}, err
			}
		}
		switch {
		case was == nil && found.Created.Before(since) && a.history == nil:
			return outbox.News{}, nil // its versions until then are not announced
		case was == nil && found.Created.Before(since):
			if d.mark.Version, err = a.history.VersionAt(ctx, found, nil, since); err != nil {
				return outbox.News{}, err
			}
		case was == nil:
			d.add(eventapi.TableCreated, "created", found.Created, eventapi.Data{})
		case was.Dropped:
			d.mark.ID, d.mark.Dropped = found.ID, false
			d.turn(eventapi.TableRestored, "restored", time.Time{}, eventapi.Data{})
		case !slices.Equal(was.ID, found.ID):
			d.mark.ID = found.ID
			d.turn(eventapi.TableRenamed, "renamed", time.Time{}, eventapi.Data{FromID: was.ID})
		}
		if of.main && a.history != nil {
			more, err = a.addCommits(ctx, found, d)
		}
		if err == nil && !more && (of.branches || of.branch != "") && a.history != nil {
			more, unread, err = a.addBranches(ctx, found, d, of.branch)
		}
		return d.result(was, a.Outbox.Now()), err
	})
	return more, unread, err
}

// addCommits adds the commits that are not announced, and reports whether some did not fit.
func (a *Announcer) addCommits(ctx context.Context, found *catalog.Table, d *draft) (more bool, err error) {
	err = a.history.Commits(ctx, found, nil, d.mark.Version, func(at time.Time, data eventapi.Data) bool {
		if more {
			return false
		}
		d.mark.Version = uint64(data.Version)
		more = !d.add(eventapi.TableCommitted, fmt.Sprintf("version/%d", data.Version), at, data)
		return true
	})
	return more, err
}

// Namespace announces the changes of a namespace.
func (a *Announcer) Namespace(ctx context.Context, id []string) error {
	found, err := a.Names.Namespaces.Get(auth.Unlimited(ctx), id)
	if isGone(err) || err == nil && found.UID == "" { // the root has none
		return nil
	}
	if err != nil {
		return err
	}
	return a.announceNamespace(ctx, found)
}

func (a *Announcer) announceNamespace(ctx context.Context, found *namespaces.Namespace) error {
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil {
		return err
	}
	_, err = a.Outbox.Announce(ctx, markKey(found.UID), func(text json.RawMessage) (outbox.News, error) {
		d, was, err := draftOf(text, keys.Namespaces, found.UID, found.ID)
		if err != nil {
			return outbox.News{}, err
		}
		if was != nil && (was.Dropped || !slices.Equal(was.ID, found.ID)) {
			if stands, err := a.stands(ctx, keys.Namespaces, found.UID, found.ID); !stands || err != nil {
				return outbox.News{}, err
			}
		}
		switch {
		case was == nil && !found.Created.Before(since):
			d.add(eventapi.NamespaceCreated, "created", found.Created, eventapi.Data{})
		case was == nil || !was.Dropped && slices.Equal(was.ID, found.ID):
		default:
			if !was.Dropped {
				d.turn(eventapi.NamespaceDropped, "dropped", time.Time{}, eventapi.Data{})
			}
			d.mark.ID, d.mark.Dropped = found.ID, false
			d.turn(eventapi.NamespaceRestored, "restored", time.Time{}, eventapi.Data{})
		}
		return d.result(was, a.Outbox.Now()), nil
	})
	return err
}
