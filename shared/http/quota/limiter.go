package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/record"
)

// A Limiter applies quotas to the requests of a process. It is safe for concurrent use.
type Limiter struct {
	table   *auth.Document[Table]
	records record.Store
	now     func() time.Time
	logger  *slog.Logger

	mu      sync.Mutex
	buckets map[string]*bucket // by key
}

// maxBuckets is the number of buckets from which idle ones are forgotten.
const maxBuckets = 10_000

// Open returns a limiter of the quotas in a document. It returns nil for no document, and no quota then applies.
func Open(table *auth.Document[Table], records record.Store, now func() time.Time, logger *slog.Logger) *Limiter {
	if table == nil {
		return nil
	}
	return &Limiter{table: table, records: records, now: now, logger: logger, buckets: map[string]*bucket{}}
}

// An Admission is one request that quotas have admitted so far. The nil Admission is of a server without quotas. Its methods
// must not be called concurrently.
type Admission struct {
	limiter *Limiter
	table   *Table
	taken   []taken
	parts   int64 // the least quota of parts; 0: there is none
}

// taken is a quota that applies to a request, with the bucket of its subject.
type taken struct {
	quota  *Quota
	bucket *bucket
}

// An Exceeded is the error for a request beyond a quota. Its code is Throttling.
type Exceeded struct {
	Quota string        // name
	After time.Duration // time after which the quota may admit a request; 0 if waiting does not help
	cause protocol.Error
}

// Kind is the kind of the problem of a request beyond a quota.
const Kind = "quota-exceeded"

// Error returns the text for the client.
func (e *Exceeded) Error() string { return e.cause.Error() }

// Unwrap returns the error of the protocol.
func (e *Exceeded) Unwrap() error { return &e.cause }

func exceeded(q *Quota, of string, wait time.Duration) *Exceeded {
	e := &Exceeded{Quota: q.Name, After: wait}
	text := fmt.Sprintf("the %s %s has used up its quota %s: %s", q.Subject, of, q.Name, q)
	detail := fmt.Sprintf("send the request again after %d seconds", e.Seconds())
	if q.Measure == Concurrent {
		text = fmt.Sprintf("the %s %s has as many requests at once as its quota %s allows: %d", q.Subject, of, q.Name, q.Amount)
		detail = "send the request again when another one has been answered"
	}
	e.cause = protocol.Error{Code: protocol.Throttling, Kind: Kind, Message: text, Detail: detail}
	return e
}

// overfull is the error for a request that adds data to a namespace that has stored too much.
func overfull(q *Quota, of string, stored int64) *Exceeded {
	return &Exceeded{Quota: q.Name, cause: protocol.Error{
		Code: protocol.Throttling, Kind: Kind,
		Message: fmt.Sprintf("the namespace %s stores %d bytes, and its quota %s allows %d", of, stored, q.Name, q.Amount),
		Detail: "drop tables, or delete rows and have their files removed (tiltyard maintain, or MaintainTable); " +
			"what is stored is measured after maintenance, at least once a day, and added up about once an hour",
	}}
}

// Seconds returns After in whole seconds, for Retry-After: at least 1, or 0 if waiting does not help.
func (e *Exceeded) Seconds() int64 {
	if e.After == 0 {
		return 0
	}
	return max(1, int64(math.Ceil(e.After.Seconds())))
}

// Admit begins a request of a principal. The error is *Exceeded, or ServiceUnavailable if the quotas cannot be read. The
// caller must call [Admission.Done] after both.
func (l *Limiter) Admit(ctx context.Context, p *auth.Principal) (*Admission, error) {
	if l == nil {
		return nil, nil
	}
	table, err := l.table.Current(ctx)
	if err != nil {
		return nil, err
	}
	a := &Admission{limiter: l, table: table}
	return a, a.enter(ctx, []name{{Principal, p.String(), p.String()}, {Tenant, p.Tenant(), p.Tenant()}}, false)
}

// Parts returns how many parts of a query may run at once, or 0 if no quota says so. Unlike the other quotas it refuses
// nothing.
func (a *Admission) Parts() int64 {
	if a == nil {
		return 0
	}
	return a.parts
}

// OfNamespaces reports whether there are quotas of namespaces.
func (a *Admission) OfNamespaces() bool { return a != nil && a.table.namespaces }

// Enter applies the quotas of a namespace and of those above it, those of stored bytes only if the request adds data to it.
// Call it only for objects that the sender may use. The error is as for Admit.
func (a *Admission) Enter(ctx context.Context, namespace []string, adds bool) error {
	if a == nil {
		return nil
	}
	var names []name
	for i := range namespace {
		one := name{subject: Namespace, of: protocol.JoinID(namespace[:i+1], protocol.DefaultDelimiter)}
		if i == 0 {
			one.each = one.of
		}
		names = append(names, one)
	}
	return a.enter(ctx, names, adds)
}

// A name is that of a subject. Quotas for each apply if each is not empty.
type name struct {
	subject  Subject
	of, each string
}

// enter takes from all quotas of some subjects, or from none. adds selects quotas of stored bytes, too.
func (a *Admission) enter(ctx context.Context, names []name, adds bool) error {
	before := len(a.taken)
	for _, n := range names {
		for _, q := range a.table.of(n.subject, n.of) {
			if q.Of == Each && n.each == "" || q.Measure == StoredBytes && !adds {
				continue
			}
			if q.Measure == Parts {
				if a.parts == 0 || q.Amount < a.parts {
					a.parts = q.Amount
				}
				continue
			}
			b := a.limiter.bucket(q, n.of)
			if a.has(b) {
				continue // a statement may read several tables of a namespace
			}
			wait, err := b.take(ctx, a.limiter, q)
			if err != nil && ctx.Err() != nil {
				a.undo(before)
				return err
			}
			if errors.Is(err, errContended) {
				wait, err = time.Second, nil
			}
			if err != nil {
				a.limiter.logger.WarnContext(ctx, "a request was admitted because its quota could not be read", "quota", q.Name, "error", err)
				continue
			}
			if wait > 0 {
				a.undo(before)
				a.taken = append(a.taken, taken{q, nil})
				if q.Measure == StoredBytes {
					return overfull(q, n.of, b.size())
				}
				return exceeded(q, n.of, wait)
			}
			a.taken = append(a.taken, taken{q, b})
		}
	}
	return nil
}

func (a *Admission) has(b *bucket) bool {
	for _, t := range a.taken {
		if t.bucket == b {
			return true
		}
	}
	return false
}

// undo gives back what was taken since.
func (a *Admission) undo(since int) {
	for _, t := range a.taken[since:] {
		t.bucket.back(false)
	}
	a.taken = a.taken[:since]
}

// A Use is what a request has used.
type Use struct{ ReadBytes, SentBytes, WrittenBytes, WrittenRows, Jobs int64 }

// of returns the part of a measure.
func (u Use) of(m Measure) int64 {
	switch m {
	case ReadBytes:
		return u.ReadBytes
	case SentBytes:
		return u.SentBytes
	case WrittenBytes:
		return u.WrittenBytes
	case WrittenRows:
		return u.WrittenRows
	case Jobs:
		return u.Jobs
	}
	return 0
}

// Done ends a request, and charges its use to the quotas.
func (a *Admission) Done(u Use) {
	if a == nil {
		return
	}
	for _, t := range a.taken {
		if t.bucket == nil {
			continue
		}
		t.bucket.back(true)
		if n := u.of(t.quota.Measure); n > 0 {
			t.bucket.charge(n)
		}
	}
	a.taken = nil
}

// Header returns the header fields RateLimit-Policy and RateLimit of an answer, which describe the quotas that apply to the
// request. They are empty if none does. Source: draft-ietf-httpapi-ratelimit-headers-10.
func (a *Admission) Header() (policy, limit string) {
	if a == nil {
		return "", ""
	}
	now := a.limiter.now()
	policies, limits := make([]string, 0, len(a.taken)), make([]string, 0, len(a.taken))
	for _, t := range a.taken {
		policy, limit := fmt.Sprintf("%q;q=%d", t.quota.Name, t.quota.Amount), fmt.Sprintf("%q;r=0", t.quota.Name)
		if t.quota.Measure != Requests {
			policy += fmt.Sprintf(";qu=%q", t.quota.Measure.unit())
		}
		if t.quota.Per > 0 {
			policy += fmt.Sprintf(";w=%d", int64(t.quota.Per.Seconds()))
		}
		if t.bucket != nil {
			left, full := t.bucket.remaining(now)
			limit = fmt.Sprintf("%q;r=%d", t.quota.Name, left)
			if t.quota.Per > 0 {
				limit += fmt.Sprintf(";t=%d", int64(math.Ceil(full.Seconds())))
			}
		}
		policies, limits = append(policies, policy), append(limits, limit)
	}
	return strings.Join(policies, ", "), strings.Join(limits, ", ")
}

// bucket returns the bucket of a quota for a subject.
func (l *Limiter) bucket(q *Quota, of string) *bucket {
	key := keyOf(q, of)
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			l.forget()
		}
		b = &bucket{key: key, of: of, quota: q}
		l.buckets[key] = b
	}
	return b
}

// forget removes idle buckets. The caller holds the lock.
func (l *Limiter) forget() {
	now := l.now()
	for key, b := range l.buckets {
		if b.idle(now) {
			delete(l.buckets, key)
		}
	}
}
