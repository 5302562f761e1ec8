// Package changefeed compares namespaces and tables with their last announced state, and writes the differences as events
// to the outbox (package outbox).
//
// Each object has a mark: the name and the version that were announced last. A poll compares the mark with the record and
// the versions of the object. The mark of a table also includes the versions of its branches (branches.go). Writers need
// not record their changes, with one exception: a dropped object leaves nothing to compare, so its drop is recorded before
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

// The kinds of polls that announce changes; package publishing runs them. The object of a poll is, in this order: the id
// of a table; the id of a table and the name of a branch; the id of a namespace; the lineage of an object that has lost a
// name; the id of a job.
const (
	TableKind     = "announce_table"
	BranchKind    = "announce_branch"
	NamespaceKind = "announce_namespace"
	LeftKind      = "announce_left"
	JobKind       = "announce_job"
)

// ForwardKind is the kind of polls that forward events; package publishing runs them.
const ForwardKind = "forward_events"

// AllKind is the kind of jobs that look at all objects; package publishing runs them.
const AllKind = "announce_all"

// An Announcer announces changes. It is safe for concurrent use.
type Announcer struct {
	Names  *catalog.Catalog
	Outbox *outbox.Outbox
	Keep   time.Duration // retention of events
	Logger *slog.Logger
	// Forwarder sends events to a target. If it is nil, events stay in the log.
	Forwarder *forward.Forwarder

	history History
	jobs    *jobs.Starter
	recent  *jobs.Recent
}

// Options configure an announcer.
type Options struct {
	Source  string        // source of the events; "" disables events
	Keep    time.Duration // retention of events; not less than [outbox.MinRetention]
	Objects objectstore.Store
	Records record.Store
	Now     func() time.Time
	Logger  *slog.Logger // may be nil
	History History      // if nil, this process leaves commits to later polls of other processes
}

// Open returns an announcer and registers it with the catalog, or returns nil if no source is configured. If starter is
// nil, other processes must schedule polls.
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
	// From here on the catalog calls the announcer before drops.
	names.WatchWith(watch{a})
	if starter != nil {
		starter.Transactions.WatchEnds(a.ended)
	}
	return a
}

// ForwardTo sets the target to which workers of this process forward events. It does nothing without events or a target,
// and must be called before the announcer is used.
func (a *Announcer) ForwardTo(address string, target forward.Target) {
	if a != nil && target != nil {
		a.Forwarder = &forward.Forwarder{
			Log: a.Outbox.Log, Records: a.Outbox.Records, Now: a.Outbox.Now, Logger: a.Logger, Target: target, Address: address,
		}
	}
}

// ForwardSoon schedules the forwarding of new events. One run forwards the events of a burst. The message may be lost.
func (a *Announcer) ForwardSoon(ctx context.Context) {
	if a.Forwarder != nil {
		a.suggest(ctx, ForwardKind, nil, announceAfter)
	}
}

// ForwardAfter schedules the continuation of forwarding after a pause.
func (a *Announcer) ForwardAfter(ctx context.Context, pause time.Duration) {
	if a.jobs != nil {
		_ = a.jobs.Suggest(ctx, ForwardKind, nil, pause)
	}
}

// suggest schedules a poll of an object after a delay, unless one is pending. The message may be
// lost.
func (a *Announcer) suggest(ctx context.Context, kind string, object []string, after time.Duration) {
	if a.jobs != nil && a.recent.IsDue(kind+" "+protocol.JoinID(object, protocol.DefaultDelimiter), after) {
		_ = a.jobs.Suggest(ctx, kind, object, after)
	}
}

// A History reads the versions of tables and of their branches. A nil branch is the table itself.
type History interface {
	// Commits calls f with the event data of each version later than after, in order, until f returns false. It does nothing
	// for a table without versions. After an error, such as [ErrNoBranch], the caller must discard the data that f received.
	Commits(ctx context.Context, t *catalog.Table, b *Branch, after uint64, f func(at time.Time, data eventapi.Data) bool) error
	// VersionAt returns the version that a table had at a time, or 0 if it had none.
	VersionAt(ctx context.Context, t *catalog.Table, b *Branch, at time.Time) (uint64, error)
	// Branches returns all branches of a table, or only the one with the given name. A missing branch
	// is no error.
	Branches(ctx context.Context, t *catalog.Table, name string) ([]Branch, error)
}

// announceAfter is the delay of a poll after a change. One poll announces all commits of a burst.
const announceAfter = time.Second

// The folders of records; see package outbox.
const (
	marksFolder   = "event-mark"
	leavingFolder = "event-leaving"
	jobsFolder    = "event-job"
)

// A mark is the announced state of a table or a namespace.
type mark struct {
	Kind    keys.Kind `json:"kind"`
	ID      []string  `json:"id"`
	Version uint64    `json:"version,omitempty"` // of a table
	Dropped bool      `json:"dropped,omitempty"`
	Turn    int       `json:"turn,omitempty"` // counts renames, drops and restorations

	Branches map[string]branchMark `json:"branches,omitempty"` // of a table, by [Branch.key]
}

// markKey returns the key of an object's mark.
func markKey(lineage string) string { return marksFolder + "/" + lineage }

// forgetMark is how long the mark of a dropped object is kept. Until then the object may be
// restored.
const forgetMark = 400 * 24 * time.Hour

// maxBatchBytes bounds the events of one batch, which must fit into a record.
const maxBatchBytes = 128 << 10

// A draft collects the events of an object and its next mark.
type draft struct {
	mark  mark
	uid   string
	news  []eventapi.Event
	bytes int
}

// add adds an event and reports whether there is room for another one. id must depend on the change alone, so that a
// repeated poll gives the event the same id.
func (d *draft) add(kind eventapi.Type, id string, at time.Time, data eventapi.Data) bool {
	data.UID = d.uid
	if data.ID == nil {
		data.ID = d.mark.ID
	}
	subject := protocol.JoinID(data.ID, protocol.DefaultDelimiter)
	const rest = 1024
	d.bytes += rest + 4*len(subject) // the event has the id twice, and escapes make it longer
	d.news = append(d.news, eventapi.Event{ID: d.uid + "/" + id, Type: kind, Subject: subject, Time: at, Data: data})
	return len(d.news) < outbox.MaxBatch && d.bytes < maxBatchBytes
}

// turn adds an event of a kind that may repeat. A counter makes its id unique.
func (d *draft) turn(kind eventapi.Type, name string, at time.Time, data eventapi.Data) {
	d.mark.Turn++
	d.add(kind, fmt.Sprintf("%s/%d", name, d.mark.Turn), at, data)
}

// result returns the news of the draft; they are empty if nothing has changed since the mark was.
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

// draftOf returns an empty draft for an object, and its decoded mark, which is nil if text is nil.
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

// lines selects the main line and branches whose commits a poll announces.
type lines struct {
	main     bool   // the main line
	branches bool   // all branches
	branch   string // only this branch; "" for none
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

// isGone reports whether an error means that the table or namespace does not exist.
func isGone(err error) bool {
	return protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound) || views.Plain(err) != nil
}

// announceTable announces the changes of a table and the commits of the selected lines. It continues after unreadable
// branches and returns their errors at the end.
func (a *Announcer) announceTable(ctx context.Context, id []string, of lines) error {
	ctx = auth.Unlimited(ctx)
	// Each round announces one batch, because a record has room for no more.
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

// announceBatch announces one batch of a table's changes, and reports whether there may be more. unread joins the errors
// of unreadable branches.
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
			// The name may be outdated: another poll may have announced a rename or a drop meanwhile.
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

// addCommits adds the unannounced commits of the main line, and reports whether some did not fit.
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
	if isGone(err) || err == nil && found.UID == "" { // the root has no record
		return nil
	}
	if err != nil {
		return err
	}
	return a.announceNamespace(ctx, found)
}

// announceNamespace announces the changes of a namespace.
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
		// The namespace is new.
		case was == nil && !found.Created.Before(since):
			d.add(eventapi.NamespaceCreated, "created", found.Created, eventapi.Data{})
		// It is older than the log, or nothing has changed.
		case was == nil || !was.Dropped && slices.Equal(was.ID, found.ID):
		default:
			// A namespace cannot be renamed. So it was dropped and restored under another id.
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
