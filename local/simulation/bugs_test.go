package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// A bug is something wrong that is planted in instances. The zero bug is none.
type bug struct {
	name      string
	about     domain
	odds      func(*odds) // the faults that it takes, if it takes more of them than usual
	faults    bool        // it is made of them
	onSend    func(*sent)
	onAnswer  func(*answer)
	onStore   func(objectstore.Store) objectstore.Store
	onRecords func(record.Store) record.Store
	onOptions func(*httpapi.Options)
	onHandler func(http.Handler) http.Handler
}

func (b bug) send(s *sent) {
	if b.onSend != nil {
		b.onSend(s)
	}
}

func (b bug) receive(v verdict) verdict {
	if b.onAnswer != nil && v.err == nil {
		b.onAnswer(&v.answer)
	}
	return v
}

func (b bug) store(s objectstore.Store) objectstore.Store {
	if b.onStore != nil {
		return b.onStore(s)
	}
	return s
}

func (b bug) records(s record.Store) record.Store {
	if b.onRecords != nil {
		return b.onRecords(s)
	}
	return s
}

func (b bug) options(o *httpapi.Options) {
	if b.onOptions != nil {
		b.onOptions(o)
	}
}

func (b bug) handler(h http.Handler) http.Handler {
	if b.onHandler != nil {
		return b.onHandler(h)
	}
	return h
}

// plantedBugs are mistakes that a service like this could have.
var plantedBugs = []bug{
	{
		name: "a put that should be conditional is not", about: names,
		onSend: func(s *sent) { s.header.Del("If-None-Match") },
	},
	{
		name: "a lost race against an own earlier attempt is taken for one against others", about: names,
		odds: func(o *odds) { o.lost = 60 },
		onStore: func(s objectstore.Store) objectstore.Store {
			return &wrong{Store: s, put: func(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
				info, err := s.Put(ctx, key, data, cond)
				if errors.Is(err, objectstore.ErrUnknownOutcome) {
					info, err = s.Put(ctx, key, data, cond) // an attempt that nobody is told of
				}
				return info, err
			}}
		},
	},
	{
		name: "409 is taken for 412", about: names,
		odds: func(o *odds) { o.conflict = 150 },
		onAnswer: func(a *answer) {
			if a.status == http.StatusConflict {
				a.status = http.StatusPreconditionFailed
			}
		},
	},
	{
		name: "a write is acknowledged before it is made", about: names,
		odds: func(o *odds) { o.crash, o.reset = 25, 60 },
		onStore: func(s objectstore.Store) objectstore.Store {
			return &wrong{Store: s, put: func(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
				data = bytes.Clone(data)
				go func() { _, _ = s.Put(context.WithoutCancel(ctx), key, data, cond) }()
				return objectstore.Info{Key: key, Size: int64(len(data)), ETag: etagOf(data)}, nil
			}}
		},
	},
	{
		name: "records are cached and not looked at again", about: names,
		onStore: func(s objectstore.Store) objectstore.Store { return &remembering{Store: s, seen: map[string][]byte{}} },
	},
	{
		name: "requests that are sent again are served again", about: rows,
		odds:      func(o *odds) { o.twice = 1000 },
		onOptions: func(o *httpapi.Options) { o.Ledger = nil },
	},
	{
		name: "the versions of a batch are made one by one", about: versions,
		odds:      func(o *odds) { o.crash = 25 },
		onHandler: func(h http.Handler) http.Handler { return oneByOne{h} },
	},
	{
		name: "a prefix is not ended by a slash", about: names,
		onStore: func(s objectstore.Store) objectstore.Store { return careless{s} },
	},
	{
		name: "a write whose answer was lost is taken for done", about: names,
		odds: func(o *odds) { o.reset = 60 },
		onStore: func(s objectstore.Store) objectstore.Store {
			return &wrong{Store: s, put: func(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
				info, err := s.Put(ctx, key, data, cond)
				if errors.Is(err, objectstore.ErrUnknownOutcome) {
					return objectstore.Info{Key: key, Size: int64(len(data)), ETag: etagOf(data)}, nil
				}
				return info, err
			}}
		},
	},
	{
		name: "the lease of a request that is being served is not heeded", about: rows,
		odds: func(o *odds) { o.twice, o.skew = 1000, time.Hour }, faults: true,
	},
	{
		name: "a namespace is dropped without a mark that creators see", about: names,
		onStore: func(s objectstore.Store) objectstore.Store {
			return &wrong{Store: s, put: func(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
				if bytes.Contains(data, []byte(`"dropping"`)) {
					return objectstore.Info{Key: key, Size: int64(len(data)), ETag: cond.IfMatch}, nil
				}
				return s.Put(ctx, key, data, cond)
			}}
		},
	},
	{
		name: "a rename takes the old name away before the new one is there", about: names,
		onHandler: func(h http.Handler) http.Handler { return awayFirst{h} },
	},
	{
		name: "parts of two stages share their records", about: jobRuns,
		onRecords: func(s record.Store) record.Store { return renaming{s, withoutStage} },
	},
	{
		name: "parts that end do not see who came before", about: jobRuns,
		onRecords: func(s record.Store) record.Store { return blind{s, "join/"} },
	},
	{
		name: "workers write over what others have written", about: jobRuns,
		odds:      func(o *odds) { o.skew = time.Hour },
		onRecords: func(s record.Store) record.Store { return blind{s, "job/"} },
	},
	{
		name: "what a part came to is written over by another run of it", about: jobRuns,
		onRecords: func(s record.Store) record.Store { return blind{s, "part/"} },
	},
	{
		name: "deaths of workers are not counted", about: jobRuns,
		onRecords: func(s record.Store) record.Store {
			return editing{s, func(work map[string]any) { delete(work, "deaths") }}
		},
	},
	{
		name: "what was set aside cannot be resumed", about: jobRuns,
		onRecords: func(s record.Store) record.Store {
			return editing{s, func(work map[string]any) { delete(work, "aside") }}
		},
	},
	{
		name: "messages that are lost are not missed", about: jobRuns,
		onRecords: func(s record.Store) record.Store {
			return editing{s, func(work map[string]any) { work["due"] = "2100-01-01T00:00:00Z" }}
		},
	},
	{
		name: "what is dead goes on when it is asked for", about: jobRuns,
		onRecords: func(s record.Store) record.Store { return reviving{s} },
	},
	{
		name: "results of parts are lost", about: jobRuns,
		onRecords: func(s record.Store) record.Store { return withoutResults{s} },
	},
}

// editing changes what is kept of the work of jobs and parts.
type editing struct {
	record.Store
	edit func(work map[string]any)
}

func (e editing) Put(ctx context.Context, put record.Record) (string, error) {
	put.Value = edited(put, "job/", "part/", func(t map[string]any) {
		if work, ok := t["work"].(map[string]any); ok {
			e.edit(work)
		}
	})
	return e.Store.Put(ctx, put)
}

// edited returns the value of a record after a change, if it is in one of two folders.
func edited(r record.Record, folder, other string, edit func(map[string]any)) json.RawMessage {
	if !strings.HasPrefix(r.Key, folder) && !strings.HasPrefix(r.Key, other) {
		return r.Value
	}
	var value map[string]any
	_ = json.Unmarshal(r.Value, &value)
	edit(value)
	text, _ := json.Marshal(value)
	return text
}

// reviving shows jobs that were set aside as ones that wait.
type reviving struct{ record.Store }

func (r reviving) Get(ctx context.Context, key string) (record.Record, error) {
	got, err := r.Store.Get(ctx, key)
	if err == nil {
		got.Value = edited(got, "job/", "part/", func(t map[string]any) {
			if work, ok := t["work"].(map[string]any); ok && work["aside"] == true {
				delete(work, "aside")
				delete(work, "deaths")
				t["status"] = "Queued"
			}
		})
	}
	return got, err
}

// withoutResults keeps no results of the first parts of stages.
type withoutResults struct{ record.Store }

func (w withoutResults) Put(ctx context.Context, put record.Record) (string, error) {
	if strings.HasSuffix(put.Key, "/0001") {
		put.Value = edited(put, "part/", "part/", func(t map[string]any) { delete(t, "result") })
	}
	return w.Store.Put(ctx, put)
}

// renaming keeps records under other keys.
type renaming struct {
	record.Store
	rename func(key string) string
}

func (r renaming) Get(ctx context.Context, key string) (record.Record, error) {
	return r.Store.Get(ctx, r.rename(key))
}

func (r renaming) Put(ctx context.Context, put record.Record) (string, error) {
	put.Key = r.rename(put.Key)
	return r.Store.Put(ctx, put)
}

func (r renaming) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	return r.Store.List(ctx, strings.TrimSuffix(r.rename(folder+"/"), "/"), after, limit)
}

// withoutStage is a key of a part that does not hold its stage.
func withoutStage(key string) string {
	if !strings.HasPrefix(key, "part/") {
		return key
	}
	return strings.NewReplacer("/left/", "/stage/", "/right/", "/stage/").Replace(key)
}

// blind writes records of a folder whatever is there.
type blind struct {
	record.Store
	folder string
}

func (b blind) Put(ctx context.Context, put record.Record) (string, error) {
	if strings.HasPrefix(put.Key, b.folder) {
		there, err := b.Get(ctx, put.Key)
		if err != nil && !errors.Is(err, record.ErrNotExist) {
			return "", err
		}
		put.Version = there.Version
	}
	return b.Store.Put(ctx, put)
}

// A wrong is a store whose puts are not what they should be.
type wrong struct {
	objectstore.Store
	put func(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error)
}

func (s *wrong) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if !strings.HasPrefix(key, "_catalog/") {
		return s.Store.Put(ctx, key, data, cond)
	}
	return s.put(ctx, key, data, cond)
}

// A remembering store never asks twice for a record.
type remembering struct {
	objectstore.Store
	mu   sync.Mutex
	seen map[string][]byte
}

func (s *remembering) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	s.mu.Lock()
	data, known := s.seen[key]
	s.mu.Unlock()
	if known {
		return bytes.Clone(data), objectstore.Info{Key: key, Size: int64(len(data)), ETag: etagOf(data)}, nil
	}
	data, info, err := s.Store.Get(ctx, key)
	if err == nil && strings.HasPrefix(key, "_catalog/") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[key] = bytes.Clone(data)
	}
	return data, info, err
}

// A careless store lists the siblings of a folder, too.
type careless struct{ objectstore.Store }

func (s careless) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	opts.Prefix = strings.TrimSuffix(opts.Prefix, "/")
	return s.Store.List(ctx, opts)
}

// oneByOne makes each version of a batch by a request of its own.
type oneByOne struct{ http.Handler }

func (h oneByOne) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/batch-create") {
		h.Handler.ServeHTTP(w, r)
		return
	}
	var batch struct{ Entries []map[string]any }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &batch)
	var last *httptest.ResponseRecorder
	for _, e := range batch.Entries {
		name := e["id"].([]any)[0].(string)
		delete(e, "id")
		if last = inside(h.Handler, r, "/v1/table/"+name+"/version/create", e); last.Code >= 300 {
			break
		}
	}
	w.WriteHeader(last.Code)
	_, _ = w.Write(last.Body.Bytes())
}

// inside serves another request in place of one.
func inside(h http.Handler, r *http.Request, path string, body any) *httptest.ResponseRecorder {
	text, _ := json.Marshal(body)
	inner := httptest.NewRequestWithContext(r.Context(), http.MethodPost, path, bytes.NewReader(text))
	inner.Header.Set("Authorization", r.Header.Get("Authorization"))
	inner.Header.Set("User-Agent", "simulation")
	got := httptest.NewRecorder()
	h.ServeHTTP(got, inner)
	return got
}

// awayFirst renames a table by taking it out and putting it in again.
type awayFirst struct{ http.Handler }

func (h awayFirst) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, isRename := strings.CutSuffix(r.URL.Path, "/rename")
	if !isRename {
		h.Handler.ServeHTTP(w, r)
		return
	}
	var to tableapi.RenameRequest
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &to)
	to.ID = strings.Split(strings.TrimPrefix(from, "/v1/table/"), "$")
	got := inside(h.Handler, r, from+"/deregister", map[string]any{})
	if got.Code < 300 {
		var gone struct{ Properties map[string]string }
		_ = json.Unmarshal(got.Body.Bytes(), &gone)
		id := strings.Join(to.NewID(), "$")
		got = inside(h.Handler, r, "/v1/table/"+id+"/declare", map[string]any{"properties": gone.Properties})
	}
	w.WriteHeader(got.Code)
	_, _ = w.Write(got.Body.Bytes())
}

// Every planted bug is found within a few histories: the checkers can fail.
func TestPlantedBugsAreFound(t *testing.T) {
	settleDown(t)
	const most = 300
	for _, b := range plantedBugs {
		t.Run(b.name, func(t *testing.T) {
			for seed := uint64(1); seed <= most; seed++ {
				r := simulate(t, seed, []domain{b.about}, b)
				if r.failure == "" || strings.Contains(r.failure, tooLong) {
					continue
				}
				without := bug{odds: b.odds}
				if b.faults {
					without.odds = nil
				}
				if sound := simulate(t, seed, []domain{b.about}, without); sound.failure != "" {
					t.Fatalf("seed %d fails without the bug, too: %s", seed, sound.failure)
				}
				t.Logf("seed %d: %s", seed, r.failure)
				return
			}
			t.Errorf("not found in %d histories", most)
		})
	}
}
