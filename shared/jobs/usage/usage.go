// Package usage meters what tenants use. Each process adds up its requests by hour, tenant, namespace and kind in a
// [Meter], and stores the sums so far as records. Package metering adds the records of all processes to a table.
//
// A record has the sums of one process in one hour, and a later flush replaces it. So a flush that is repeated counts once,
// and the sums of an hour only ever grow. A process that is killed loses what it has counted since its last flush.
//
// The bytes that tenants store are no sums of requests: maintenance notes the size of each table that it visits
// ([NoteStored]), in a record of the table. The sums of first namespaces that have a quota of them are records as well
// ([Stored]).
package usage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tiltyard/shared/storage/record"
)

// Kept is the time for which records are kept after their hour.
const Kept = 7 * 24 * time.Hour

// A Key is what requests are counted by.
type Key struct {
	Tenant    string `json:"tenant"`
	Namespace string `json:"namespace"` // the first one of the object; "" for the root, and for requests without an object
	Kind      string `json:"kind"`      // the group of the operation
}

// Counts are sums over requests. All of them only grow.
type Counts struct {
	Requests      int64 `json:"requests"`
	Refused       int64 `json:"refused,omitempty"` // with 429
	Failed        int64 `json:"failed,omitempty"`  // by the fault of the service
	ComputeMicros int64 `json:"compute_us,omitempty"`
	ReceivedBytes int64 `json:"received_bytes,omitempty"` // of the bodies of requests
	SentBytes     int64 `json:"sent_bytes,omitempty"`     // of the bodies of answers
	ReadBytes     int64 `json:"read_bytes,omitempty"`     // from storage
	WrittenBytes  int64 `json:"written_bytes,omitempty"`  // to storage
	StorageReads  int64 `json:"storage_reads,omitempty"`  // requests
	StorageWrites int64 `json:"storage_writes,omitempty"` // requests
	ReturnedRows  int64 `json:"returned_rows,omitempty"`
	WrittenRows   int64 `json:"written_rows,omitempty"`
	Jobs          int64 `json:"jobs,omitempty"` // that were begun
}

// Add adds other counts.
func (c *Counts) Add(o Counts) {
	c.Requests += o.Requests
	c.Refused += o.Refused
	c.Failed += o.Failed
	c.ComputeMicros += o.ComputeMicros
	c.ReceivedBytes += o.ReceivedBytes
	c.SentBytes += o.SentBytes
	c.ReadBytes += o.ReadBytes
	c.WrittenBytes += o.WrittenBytes
	c.StorageReads += o.StorageReads
	c.StorageWrites += o.StorageWrites
	c.ReturnedRows += o.ReturnedRows
	c.WrittenRows += o.WrittenRows
	c.Jobs += o.Jobs
}

// An Hour is a number of hours since 1970.
type Hour int64

// HourOf returns the hour of a time.
func HourOf(t time.Time) Hour { return Hour(t.Unix() / 3600) }

// Start returns the beginning of the hour.
func (h Hour) Start() time.Time { return time.Unix(int64(h)*3600, 0).UTC() }

func (h Hour) folder() string { return fmt.Sprintf("usage/%d", int64(h)) }

// An entry is the form of counts in a record.
type entry struct {
	Key
	Counts
}

// stored is the value of a record.
type stored struct {
	Entries []entry `json:"entries"`
}

const (
	// chunkBytes bounds the names in one record, and chunkEntries the entries, so that the record stays below its limit.
	chunkBytes   = 64 << 10
	chunkEntries = 300
	// FlushEvery is the time between two flushes.
	FlushEvery = time.Minute
	// nameBytes is the length of the name of a process in keys.
	nameBytes = 16
)

// A Meter adds up the usage of one process. It is safe for concurrent use.
type Meter struct {
	records record.Store
	now     func() time.Time
	name    string // of the process

	flushing sync.Mutex
	mu       sync.Mutex
	hours    map[Hour]*hour
	flushed  time.Time
}

// An hour has the counts of a process in an hour, divided into records.
type hour struct {
	places map[Key]int // number of the chunk
	chunks []*chunk
}

type chunk struct {
	counts  map[Key]*Counts
	bytes   int
	dirty   bool
	written bool   // a write was tried
	version string // of the record; "" after a write whose outcome is unknown
}

// Open returns a meter of a process, whose name no other process has had.
func Open(records record.Store, now func() time.Time, process string) *Meter {
	sum := sha256.Sum256([]byte(process))
	return &Meter{records: records, now: now, name: hex.EncodeToString(sum[:nameBytes]), hours: map[Hour]*hour{}, flushed: now()}
}

// Add counts a request.
func (m *Meter) Add(k Key, c Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := HourOf(m.now())
	h := m.hours[at]
	if h == nil {
		h = &hour{places: map[Key]int{}}
		m.hours[at] = h
	}
	h.chunkOf(k).add(k, c)
}

// chunkOf returns the chunk of a key, the last one if the key is new and it has room.
func (h *hour) chunkOf(k Key) *chunk {
	if place, ok := h.places[k]; ok {
		return h.chunks[place]
	}
	size := len(k.Tenant) + len(k.Namespace) + len(k.Kind)
	last := len(h.chunks) - 1
	if last < 0 || len(h.chunks[last].counts) >= chunkEntries || h.chunks[last].bytes+size > chunkBytes {
		h.chunks = append(h.chunks, &chunk{counts: map[Key]*Counts{}})
		last++
	}
	h.places[k] = last
	h.chunks[last].bytes += size
	return h.chunks[last]
}

func (c *chunk) add(k Key, counts Counts) {
	sums := c.counts[k]
	if sums == nil {
		sums = new(Counts)
		c.counts[k] = sums
	}
	sums.Add(counts)
	c.dirty = true
}

// FlushNowAndThen flushes if the last flush was FlushEvery ago.
func (m *Meter) FlushNowAndThen(ctx context.Context) error {
	m.mu.Lock()
	due := m.now().Sub(m.flushed) >= FlushEvery
	if due {
		m.flushed = m.now() // so that one of several requests flushes
	}
	m.mu.Unlock()
	if !due {
		return nil
	}
	return m.Flush(ctx)
}

// Flush stores the sums that have changed. After an error the next flush stores them.
func (m *Meter) Flush(ctx context.Context) error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	m.mu.Lock()
	m.flushed = m.now()
	hours := slices.Sorted(maps.Keys(m.hours))
	m.mu.Unlock()
	var failed []error
	for _, at := range hours {
		m.mu.Lock()
		h := m.hours[at]
		chunks := slices.Clone(h.chunks)
		m.mu.Unlock()
		failures := 0
		for number, c := range chunks {
			if err := m.store(ctx, at, number, c); err != nil {
				failed = append(failed, err)
				failures++
			}
		}
		m.mu.Lock()
		if failures == 0 && at < HourOf(m.now()) {
			delete(m.hours, at) // no request is counted in it any more
		}
		m.mu.Unlock()
	}
	return errors.Join(failed...)
}

// store writes the record of a chunk if it has changed.
func (m *Meter) store(ctx context.Context, at Hour, number int, c *chunk) error {
	m.mu.Lock()
	if !c.dirty {
		m.mu.Unlock()
		return nil
	}
	var value stored
	for _, k := range slices.SortedFunc(maps.Keys(c.counts), CompareKeys) {
		value.Entries = append(value.Entries, entry{k, *c.counts[k]})
	}
	c.dirty = false
	m.mu.Unlock()
	err := m.put(ctx, fmt.Sprintf("%s/%s-%d", at.folder(), m.name, number), at, c, value)
	if err != nil {
		m.mu.Lock()
		c.dirty, c.version = true, ""
		m.mu.Unlock()
		return fmt.Errorf("store the usage of %s: %w", at.Start().Format(time.RFC3339), err)
	}
	return nil
}

// put replaces a record. Only one flush runs at a time.
func (m *Meter) put(ctx context.Context, key string, at Hour, c *chunk, value stored) error {
	if c.written && c.version == "" {
		found, err := m.records.Get(ctx, key)
		if err != nil && !errors.Is(err, record.ErrNotExist) {
			return err
		}
		c.version = found.Version
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c.written = true
	c.version, err = m.records.Put(ctx, record.Record{Key: key, Value: text, Version: c.version, Expires: (at + 1).Start().Add(Kept)})
	return err
}

// CompareKeys orders keys.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
}

// A Sum has the counts of all processes in an hour.
type Sum struct {
	Hour   Hour
	Counts map[Key]Counts
	// State identifies the records that were added up. It is "" for an hour without records.
	State string
}

// page is the number of records that are read at once.
const page = 100

// Read adds up the records of an hour.
func Read(ctx context.Context, records record.Store, at Hour) (Sum, error) {
	sum := Sum{Hour: at, Counts: map[Key]Counts{}}
	digest := sha256.New()
	for after := ""; ; {
		found, err := records.List(ctx, at.folder(), after, page)
		if err != nil {
			return sum, err
		}
		for _, r := range found.Records {
			var value stored
			if err := r.Decode(&value); err != nil {
				return sum, err
			}
			fmt.Fprintf(digest, "%s\x00%s\x00", r.Key, r.Version)
			sum.State = " " // there is one
			for _, e := range value.Entries {
				counts := sum.Counts[e.Key]
				counts.Add(e.Counts)
				sum.Counts[e.Key] = counts
			}
		}
		if after = found.Next; after == "" {
			break
		}
	}
	if sum.State != "" {
		sum.State = hex.EncodeToString(digest.Sum(nil)[:16])
	}
	return sum, nil
}
