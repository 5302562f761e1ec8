package changefeed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/events/changefeed"
	"tiltyard/shared/events/outbox"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
)

// A line is a table itself, or a branch of it.
type line struct {
	branch changefeed.Branch // of a branch
	at     []time.Time       // when each version was stored
	broken bool              // it cannot be read
	remade bool              // another one has its name by the time that its commits are read
}

// histories are the versions of tables by name. They are what a test says.
type histories struct {
	main     map[string]*line
	branches map[string][]*line
	listed   int // how often branches were asked for
}

var errDamaged = errors.New("the manifest is damaged")

func (h *histories) of(t *catalog.Table, b *changefeed.Branch) *line {
	name := strings.Join(t.ID, "/")
	if b == nil {
		return h.main[name]
	}
	at := slices.IndexFunc(h.branches[name], func(l *line) bool { return l.branch == *b })
	return h.branches[name][at]
}

func (h *histories) Commits(_ context.Context, t *catalog.Table, b *changefeed.Branch, after uint64, f func(time.Time, eventapi.Data) bool) error {
	l := h.of(t, b)
	if l == nil {
		return nil
	}
	first := uint64(1)
	if b != nil {
		first = b.First
	}
	for i, at := range l.at {
		version := first + uint64(i)
		if version > after && !f(at, eventapi.Data{Version: int64(version)}) {
			break
		}
	}
	switch {
	case l.broken:
		return errDamaged
	case l.remade:
		return changefeed.ErrNoBranch
	}
	return nil
}

func (h *histories) VersionAt(_ context.Context, t *catalog.Table, b *changefeed.Branch, at time.Time) (version uint64, err error) {
	first := uint64(1)
	if b != nil {
		first = b.First
	}
	for i, made := range h.of(t, b).at {
		if !made.After(at) {
			version = first + uint64(i)
		}
	}
	return version, nil
}

func (h *histories) Branches(_ context.Context, t *catalog.Table, name string) (found []changefeed.Branch, err error) {
	h.listed++
	for _, l := range h.branches[strings.Join(t.ID, "/")] {
		if name == "" || l.branch.Name == name {
			found = append(found, l.branch)
		}
	}
	return found, nil
}

// A world is a catalog that an announcer watches.
type world struct {
	*testing.T
	names     *catalog.Catalog
	announcer *changefeed.Announcer
	histories *histories
	clock     time.Time
	call      func(key string) // is called before an object is read; may be nil
	seen      int              // events that were looked at
}

// watched is a store that calls a function before an object is read.
type watched struct {
	objectstore.Store
	*world
}

func (s watched) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	if s.call != nil {
		s.call(key)
	}
	return s.Store.Get(ctx, key)
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), histories: &histories{main: map[string]*line{}, branches: map[string][]*line{}}}
	objects := watched{memstore.New(), w}
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	w.names = catalog.Open(roots, w.now)
	w.names.Drops.Retention = 24 * time.Hour
	w.announcer = changefeed.Open(w.names, nil, changefeed.Options{
		Source: "urn:test", Objects: objects, Records: objectrecord.Open(objects, w.now), Now: w.now, History: w.histories,
	})
	return w
}

// now is a clock that goes on by a second whenever it is read, so that no two changes are at one time.
func (w *world) now() time.Time {
	w.clock = w.clock.Add(time.Second)
	return w.clock
}

// begin begins the log.
func (w *world) begin() {
	w.Helper()
	_, err := w.announcer.Outbox.Log.Since(w.Context())
	w.must(err)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// create makes a table with some versions.
func (w *world) create(name string, versions int) {
	w.Helper()
	id := strings.Split(name, "/")
	_, err := w.names.CreateTable(w.Context(), id, w.names.Places.New(id), 1, nil)
	w.must(err)
	w.histories.main[name] = new(line)
	w.commit(w.histories.main[name], versions)
}

func (w *world) commit(l *line, versions int) {
	for range versions {
		l.at = append(l.at, w.now())
	}
}

// branch makes a branch of a table, with some versions, of which the first has the given number.
func (w *world) branch(table, name string, first uint64, versions int) *line {
	made := w.now()
	l := &line{branch: changefeed.Branch{Name: name, Incarnation: fmt.Sprint(name, made), First: first, Made: made}}
	w.commit(l, versions)
	w.histories.branches[table] = append(w.histories.branches[table], l)
	return l
}

// deleteBranches deletes the branches of a table, without a word to the announcer.
func (w *world) deleteBranches(table string) { w.histories.branches[table] = nil }

func (w *world) family(name string) {
	w.Helper()
	w.must(w.announcer.Family(w.Context(), strings.Split(name, "/")))
}

// lineage returns what names an object for good.
func (w *world) lineage(name string) string {
	w.Helper()
	found, err := w.names.Table(w.Context(), strings.Split(name, "/"))
	w.must(err)
	return found.Lineage
}

func (w *world) drop(name string) {
	w.Helper()
	_, err := w.names.DropTable(w.Context(), strings.Split(name, "/"))
	w.must(err)
}

// left looks at an object that has lost its name.
func (w *world) left(lineage string) {
	w.Helper()
	w.must(w.announcer.Left(w.Context(), lineage))
}

// news returns the events since it was last called, in short.
func (w *world) news() (list []string) {
	w.Helper()
	var all []eventapi.Event
	for at, more := (outbox.Cursor{}), true; more; {
		page, err := w.announcer.Outbox.Log.Read(w.Context(), at, 1000, func(*eventapi.Event) bool { return true })
		w.must(err)
		all, at, more = append(all, page.Events...), page.Next, page.More
	}
	ids := map[string]bool{}
	for i, e := range all {
		if ids[e.ID] {
			w.Errorf("event %s is there twice", e.ID)
		}
		ids[e.ID] = true
		if i < w.seen {
			continue
		}
		what := strings.TrimPrefix(string(e.Type), "tiltyard.") + " " + strings.Join(e.Data.ID, "/")
		if e.Data.Branch != "" {
			what += "@" + e.Data.Branch
		}
		if e.Data.Version > 0 {
			what += fmt.Sprint(" ", e.Data.Version)
		}
		list = append(list, what)
	}
	w.seen = len(all)
	return list
}

func TestAnnouncerAnnouncesTables(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"a new table with its commits", func(w *world) {
			w.begin()
			w.create("t", 2)
			w.family("t")
		}, []string{"table.created t", "table.committed t 1", "table.committed t 2"}},
		{"each commit once", func(w *world) {
			w.begin()
			w.create("t", 1)
			w.family("t")
			w.commit(w.histories.main["t"], 1)
			w.family("t")
			w.family("t")
		}, []string{"table.created t", "table.committed t 1", "table.committed t 2"}},
		{"a table without versions", func(w *world) {
			w.begin()
			w.create("t", 0)
			w.family("t")
		}, []string{"table.created t"}},
		{"of a table that is older than the log, what came later", func(w *world) {
			w.create("t", 2)
			w.branch("t", "b", 2, 2)
			w.begin()
			w.commit(w.histories.main["t"], 1)
			w.commit(w.histories.branches["t"][0], 1)
			w.branch("t", "c", 3, 1)
			w.family("t")
		}, []string{"table.committed t 3", "branch.committed t@b 4", "branch.committed t@c 3"}},
		{"more than fits into a batch", func(w *world) {
			w.begin()
			w.create("t", 150)
			w.branch("t", "b", 1, 120)
			w.family("t")
			if got := len(w.news()); got != 1+150+120 {
				w.Errorf("got %d events, want 271", got)
			}
			w.family("t")
		}, nil},
		{"nothing that is missing, and no plain view", func(w *world) {
			w.begin()
			w.create("t", 1)
			_, err := w.names.Views.Create(w.Context(), []string{"v"}, views.NewView{Kind: stored.Plain, Source: []string{"t"}, Plain: &stored.PlainView{Query: "SELECT 1", Schema: []byte("{}")}})
			w.must(err)
			w.family("v")
			w.family("none")
			w.family("none/t")
			w.must(w.announcer.Namespace(w.Context(), []string{"none"}))
			w.must(w.announcer.Namespace(w.Context(), nil))
		}, nil},
		{"a namespace that is younger than the log", func(w *world) {
			for _, name := range []string{"old", "new"} {
				_, err := w.names.Namespaces.Create(w.Context(), []string{name}, nil, namespaces.FailIfExists)
				w.must(err)
				w.begin()
				for range 2 {
					w.must(w.announcer.Namespace(w.Context(), []string{name}))
				}
			}
		}, []string{"namespace.created new"}},
		{"a table that is dropped before a poll, with all before it", func(w *world) {
			w.begin()
			w.create("t", 1)
			w.branch("t", "b", 1, 1)
			lineage := w.lineage("t")
			w.drop("t")
			for range 2 {
				w.left(lineage)
			}
		}, []string{"table.created t", "table.committed t 1", "branch.committed t@b 1", "table.dropped t 1"}},
		{"the drop of a table that cannot be read", func(w *world) {
			w.begin()
			w.create("t", 1)
			w.histories.main["t"].broken = true
			lineage := w.lineage("t")
			w.drop("t")
			w.left(lineage)
		}, []string{"table.created t", "table.dropped t"}},
		{"a rename, with what came before it", func(w *world) {
			w.begin()
			w.create("t", 1)
			_, err := w.names.RenameTable(w.Context(), []string{"t"}, []string{"u"})
			w.must(err)
			w.family("u")
		}, []string{"table.created t", "table.committed t 1", "table.renamed u"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			c.do(w)
			if got := w.news(); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestAnnouncerAnnouncesBranches(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"one that is deleted and made again is another one", func(w *world) {
			w.branch("t", "b", 1, 2)
			w.family("t")
			w.deleteBranches("t")
			w.branch("t", "b", 1, 2)
			w.family("t")
		}, []string{"branch.committed t@b 1", "branch.committed t@b 2", "branch.committed t@b 1", "branch.committed t@b 2"}},
		{"one that gets its name back is the same", func(w *world) {
			l := w.branch("t", "b", 1, 1)
			w.family("t")
			for range 3 {
				w.deleteBranches("t")
				w.family("t")
				w.clock = w.clock.Add(50 * time.Minute)
				w.family("t")
				w.histories.branches["t"] = []*line{l}
				w.family("t")
			}
			w.commit(l, 1)
			w.family("t")
		}, []string{"branch.committed t@b 1", "branch.committed t@b 2"}},
		{"nothing of one that is replaced while it is read", func(w *world) {
			w.branch("t", "a", 1, 1).remade = true
			w.branch("t", "b", 1, 1)
			w.family("t")
			w.histories.branches["t"][0].remade = false
			w.family("t")
		}, []string{"branch.committed t@b 1", "branch.committed t@a 1"}},
		{"all but one that cannot be read", func(w *world) {
			w.branch("t", "a", 1, 1)
			w.branch("t", "b", 1, 120).broken = true
			w.branch("t", "c", 1, 1)
			w.commit(w.histories.main["t"], 1)
			if err := w.announcer.Family(w.Context(), []string{"t"}); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), "branch b") {
				w.Errorf("the poll: %v, want the damage of branch b", err)
			}
		}, []string{"table.committed t 2", "branch.committed t@a 1", "branch.committed t@c 1"}},
		{"a poll of the table leaves them out, and does not ask for them", func(w *world) {
			w.branch("t", "b", 1, 1)
			w.must(w.announcer.Table(w.Context(), []string{"t"}))
			if w.histories.listed > 0 {
				w.Error("the branches were listed")
			}
		}, nil},
		{"a poll of one has the commits to the table, and none to others", func(w *world) {
			w.branch("t", "a", 1, 1)
			w.branch("t", "b", 2, 1)
			w.commit(w.histories.main["t"], 1)
			w.must(w.announcer.Branch(w.Context(), []string{"t"}, "b"))
			w.must(w.announcer.Branch(w.Context(), []string{"t"}, "none"))
		}, []string{"table.committed t 2", "branch.committed t@b 2"}},
		{"one that is about to be deleted, although the table cannot be read", func(w *world) {
			w.branch("t", "b", 1, 1)
			w.must(w.announcer.BeforeDeleted(w.Context(), []string{"t"}, "b"))
			w.branch("t", "c", 1, 1).broken = true
			w.must(w.announcer.BeforeDeleted(w.Context(), []string{"t"}, "c"))
			w.must((*changefeed.Announcer)(nil).BeforeDeleted(w.Context(), []string{"t"}, "c"))
		}, []string{"branch.committed t@b 1"}},
		{"of very many the first thousand, and the others when those are gone", func(w *world) {
			for n := range 1002 {
				w.branch("t", fmt.Sprintf("b%04d", n), 1, 1)
			}
			for range 2 {
				if err := w.announcer.Family(w.Context(), []string{"t"}); err == nil || !strings.Contains(err.Error(), "1000 other branches") {
					w.Errorf("the poll: %v", err)
				}
			}
			if got := w.news(); len(got) != 1000 || got[999] != "branch.committed t@b0999 1" {
				w.Errorf("got %d events, the last %q", len(got), got[len(got)-1])
			}
			w.histories.branches["t"] = w.histories.branches["t"][1:]
			_ = w.announcer.Family(w.Context(), []string{"t"})
			w.clock = w.clock.Add(2 * time.Hour)
			_ = w.announcer.Family(w.Context(), []string{"t"})
		}, []string{"branch.committed t@b1000 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			w.begin()
			w.create("t", 1)
			w.must(w.announcer.Table(w.Context(), []string{"t"}))
			w.news()
			c.do(w)
			if got := w.news(); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A poll that has found a table under a name may come to its mark after the table was renamed or dropped, and after
// that was announced. The name that it has found is then none to announce.
func TestAnnouncerThatIsLateAnnouncesNoName(t *testing.T) {
	for _, c := range []struct {
		name string
		move func(w *world)
		want []string
	}{
		{"renamed", func(w *world) {
			_, err := w.names.RenameTable(w.Context(), []string{"t"}, []string{"u"})
			w.must(err)
			w.must(w.announcer.Table(w.Context(), []string{"u"}))
		}, []string{"table.renamed u"}},
		{"dropped", func(w *world) {
			lineage := w.lineage("t")
			w.drop("t")
			w.left(lineage)
		}, []string{"table.dropped t 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			w.begin()
			w.create("t", 1)
			w.must(w.announcer.Table(w.Context(), []string{"t"}))
			w.news()
			w.call = func(key string) {
				if strings.Contains(key, "event-mark/") {
					w.call = nil
					c.move(w)
				}
			}
			w.must(w.announcer.Table(w.Context(), []string{"t"}))
			if w.call != nil {
				t.Fatal("the poll has read no mark")
			}
			if got := w.news(); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
