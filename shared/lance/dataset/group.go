package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/lance/pb"
)

// Group commit: within a process, commits to one table queue up instead of colliding, and waiting
// appends become one version. While one commit is in flight, other appends finish their files and
// confirm their tables. The first to get its turn leads: it commits the fragments of all waiting
// appends as one transaction and answers each with that version. The slower a commit, the more
// appends share it. A single writer neither waits nor does extra work.
//
// Conflicts of a single append are detected before it joins a group; the other members go on
// without it. The group then succeeds or fails as one operation. A caller whose context ends while
// it waits leaves the queue. Once its commit has begun, it waits for the outcome; the end of the
// leader's own context does not stop the group.

// A commitQueue orders the commits to one table.
type commitQueue struct {
	turn    chan struct{} // holds one token while nobody commits
	waiting int           // callers in the queue, including the one that commits
	joining []*ready      // waiting appends that may share a transaction
}

const (
	// maxJoined bounds the appends in one transaction.
	maxJoined = 512
	// joinTime bounds a group commit. The leader's own deadline does not apply to it.
	joinTime = time.Minute
)

// joins reports whether the change may join a group: it appends rows, started from the newest
// version, and the table's manifests are created by plain puts.
func (c *Change) joins(t *Table) bool {
	_, ok := c.Operation.(*pb.Append)
	return ok && c.guess != nil && t.publish == nil
}

// crowded reports whether a commit to the table is in progress.
func (s *Session) crowded(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits[uri] != nil
}

// Hold waits for the table's turn and keeps it until release is called. The returned table commits
// without queuing, so no other commit of this process comes between its commits. Use it for a
// change that concurrent writers would otherwise force to retry forever.
func (t *Table) Hold(ctx context.Context) (held *Table, release func(), err error) {
	release, err = t.session.turnOf(ctx, t.at.URI)
	if err != nil {
		return nil, nil, err
	}
	view := *t
	view.held = true
	return &view, release, nil
}

// Turn serializes work of one name on the table within this process. The turn lasts until release
// is called.
func (t *Table) Turn(ctx context.Context, work string) (release func(), err error) {
	return t.session.turnOf(ctx, t.at.Cached+work)
}

// turnOf waits for the caller's turn in a queue. The turn lasts until release is called.
func (s *Session) turnOf(ctx context.Context, name string) (release func(), err error) {
	queue := s.enter(name)
	select {
	case <-queue.turn:
	case <-ctx.Done():
		s.leave(name, queue)
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() {
		queue.turn <- struct{}{}
		s.leave(name, queue)
	}), nil
}

// inTurn commits r when its turn comes, or waits for the leader that commits it.
func (s *Session) inTurn(ctx context.Context, r *ready) (*Dataset, error) {
	if r.table.held {
		return r.commit(ctx)
	}
	queue := s.enter(r.table.at.URI)
	defer s.leave(r.table.at.URI, queue)
	if r.joins {
		s.join(queue, r)
	}
	select {
	case <-queue.turn:
		defer func() { queue.turn <- struct{}{} }()
		switch together := s.begin(queue, r); len(together) {
		case 0: // the previous leader has committed it
		case 1:
			return r.commit(ctx)
		default:
			commitTogether(ctx, r.table, together)
		}
	case <-r.settled:
	case <-ctx.Done():
		if s.withdraw(queue, r) {
			return nil, ctx.Err()
		}
	}
	<-r.settled
	return r.made, r.err
}

// settle publishes the outcome of r. Later calls have no effect.
func (r *ready) settle(made *Dataset, err error) {
	r.once.Do(func() {
		r.made, r.err = made, err
		close(r.settled)
	})
}

// enter joins the queue of a table and creates it for the first caller.
func (s *Session) enter(uri string) *commitQueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.commits[uri]
	if queue == nil {
		queue = &commitQueue{turn: make(chan struct{}, 1)}
		queue.turn <- struct{}{}
		s.commits[uri] = queue
	}
	queue.waiting++
	return queue
}

func (s *Session) join(queue *commitQueue, r *ready) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue.joining = append(queue.joining, r)
}

// leave removes the queue after its last caller.
func (s *Session) leave(uri string, queue *commitQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if queue.waiting--; queue.waiting == 0 {
		delete(s.commits, uri)
	}
}

// begin returns the commits to make in the turn of r: r alone, all waiting appends, or none if r
// has been committed.
func (s *Session) begin(queue *commitQueue, r *ready) []*ready {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.joins {
		return []*ready{r}
	}
	at := slices.Index(queue.joining, r)
	if at < 0 {
		return nil
	}
	end := min(len(queue.joining), max(maxJoined, at+1))
	together := slices.Clone(queue.joining[:end])
	queue.joining = slices.Delete(queue.joining, 0, end)
	return together
}

// withdraw takes r out of the queue. It returns false if r is already being committed.
func (s *Session) withdraw(queue *commitQueue, r *ready) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.joins {
		return true
	}
	at := slices.Index(queue.joining, r)
	if at >= 0 {
		queue.joining = slices.Delete(queue.joining, at, at+1)
	}
	return at >= 0
}

// commitTogether commits appends as one transaction and settles each. An append that conflicts with
// commits since it became ready is settled with its error and left out.
func commitTogether(ctx context.Context, t *Table, together []*ready) {
	failure := fmt.Errorf("commit to %s: the commit was broken off", t.at.URI)
	defer func() { // also after a panic, because others wait
		for _, r := range together {
			r.settle(nil, failure)
		}
	}()
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), joinTime)
	defer done()
	base := newestOf(t, together)
	var members []*ready
	for _, r := range together {
		if err := r.comesAfter(ctx, base); err != nil {
			r.settle(t.found(ctx, err))
			continue
		}
		members = append(members, r)
	}
	if len(members) == 0 {
		return
	}
	one, err := joined(members, base)
	var made *Dataset
	if err == nil {
		made, err = one.commit(ctx)
	}
	for _, r := range members {
		r.settle(made, err)
	}
}

// newestOf returns the newest known version.
func newestOf(t *Table, together []*ready) *Dataset {
	newest := together[0].newest
	for _, r := range together[1:] {
		if r.newest.Version() > newest.Version() {
			newest = r.newest
		}
	}
	if k, ok := t.known(); ok && k.dataset.Version() > newest.Version() {
		newest = k.dataset
	}
	return newest
}

// comesAfter returns an error if r conflicts with the commits up to newest.
func (r *ready) comesAfter(ctx context.Context, newest *Dataset) error {
	if newest.Version() <= r.base.Version() {
		return nil
	}
	_, err := r.table.checked(ctx, r.change, r.txn, r.base, newest)
	return err
}

// joinedProperty is the transaction property with the UUIDs of the joined appends, separated by
// spaces.
const joinedProperty = "tiltyard.joined"

// joined merges appends into one commit, as if planned on base.
func joined(members []*ready, base *Dataset) (*ready, error) {
	first := members[0]
	if len(members) == 1 && first.base == base {
		return first, nil
	}
	all := new(pb.Append)
	var ids, authors []string
	for _, r := range members {
		all.Fragments = append(all.Fragments, r.txn.Operation.(*pb.Append).Fragments...)
		ids = append(ids, r.txn.UUID)
		authors = append(authors, Authors(r.txn)...)
	}
	one := &ready{
		table: first.table, base: base, newest: base,
		change: &Change{Read: base, Operation: all},
		txn:    &pb.Transaction{ReadVersion: base.Version(), UUID: first.txn.UUID, Operation: all},
	}
	if len(ids) > 1 {
		one.txn.Properties = map[string]string{joinedProperty: strings.Join(ids, " ")}
	}
	one.txn.Properties = signed(one.txn.Properties, authors...)
	var err error
	one.next, err = one.change.onto(base, all)
	return one, err
}
