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

// Commits to one table wait for each other within a process instead of colliding, and
// appends do not wait one by one. While one commit is on its way, others become ready, each
// with its own files durable and its own table confirmed. The first of them whose turn it is
// leads: it commits the fragments of all appends that wait as one transaction, and each is
// answered with that version. So writers share the price of a version, the longer it takes
// the more of them, and a writer who is alone pays and waits for nothing more.
//
// What one append cannot be is decided before it joins: an append that cannot come after
// what was committed since it was begun is told so, and the others go on without it. From
// then on they are one operation of one kind, which succeeds or fails for all alike. A
// caller who goes away while he waits is left out; once he is among those who are being
// committed the outcome is his, and the leader's own going away stops nobody.

// A commitQueue is the commits to one table.
type commitQueue struct {
	turn    chan struct{} // holds one token while nobody commits
	waiting int           // and committing
	joining []*ready      // those among them that may be committed together
}

const (
	// maxJoined bounds how many appends become one transaction.
	maxJoined = 512
	// joinTime bounds how long a leader commits for others, whatever his own deadline is.
	joinTime = time.Minute
)

// joins says whether the change may be committed together with others: it is rows that go
// to the end, by a writer that makes versions by plain puts.
func (c *Change) joins(t *Table) bool {
	_, ok := c.Operation.(*pb.Append)
	return ok && c.guess != nil && t.publish == nil
}

// crowded says whether somebody commits to the table at this moment.
func (s *Session) crowded(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits[uri] != nil
}

// Hold waits until nobody else in this process commits to the table, and returns the table,
// between whose commits nobody else's come until release is called: a change that depends on
// what others change all the time is worked out and committed without one of them in between.
func (t *Table) Hold(ctx context.Context) (held *Table, release func(), err error) {
	release, err = t.session.turnOf(ctx, t.at.URI)
	if err != nil {
		return nil, nil, err
	}
	view := *t
	view.held = true
	return &view, release, nil
}

// Turn waits until no other caller in this process does the work of a name on the table. The turn lasts until release is
// called.
func (t *Table) Turn(ctx context.Context, work string) (release func(), err error) {
	return t.session.turnOf(ctx, t.at.Cached+work)
}

// turnOf waits until it is the caller's turn in a queue, which lasts until release is called.
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

// inTurn commits r when it is its turn, or lets others commit it.
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
		case 0: // whose turn it was before has committed it
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

// settle tells what became of r, once.
func (r *ready) settle(made *Dataset, err error) {
	r.once.Do(func() {
		r.made, r.err = made, err
		close(r.settled)
	})
}

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

func (s *Session) leave(uri string, queue *commitQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if queue.waiting--; queue.waiting == 0 {
		delete(s.commits, uri)
	}
}

// begin returns who is to be committed now that it is the turn of r: it alone, or all
// appends that wait, or nobody when r has been committed.
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

// withdraw takes r back, unless it is being committed.
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

// commitTogether commits appends as one transaction and settles each. Whoever cannot come
// after what was committed since he became ready is settled before, and left out.
func commitTogether(ctx context.Context, t *Table, together []*ready) {
	failure := fmt.Errorf("commit to %s: the commit was broken off", t.at.URI)
	defer func() { // also when it panics: others wait
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

// newestOf returns the newest version that is known.
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

// comesAfter says whether r can be committed after a version.
func (r *ready) comesAfter(ctx context.Context, newest *Dataset) error {
	if newest.Version() <= r.base.Version() {
		return nil
	}
	_, err := r.table.checked(ctx, r.change, r.txn, r.base, newest)
	return err
}

// joinedProperty is the property of a transaction that holds the UUIDs of those that
// were joined in it, separated by spaces.
const joinedProperty = "tiltyard.joined"

// joined makes one commit of several appends, as if it had been worked out on base.
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
