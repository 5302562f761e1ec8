package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// A world is all that one history happens in. Its scheduler is the goroutine that calls run.
type world struct {
	seed   uint64
	rng    *rand.Rand // of the scheduler
	chance *chance    // of everybody else
	odds   odds
	bucket *bucket
	table  *table
	bugs   bug  // see bugs_test.go
	wired  bool // instances use the real clients of AWS
	files  bool // and keep their records beside the tables

	mu     sync.Mutex
	parked []*parked
	step   int64          // decisions so far: the time of histories
	clock  time.Time      // of the servers; instances have their own
	calm   bool           // no more faults
	over   bool           // nothing is served any more
	ghosts []*sent        // writes that may be carried out although nobody waits for them
	lateBy map[string]int // how many of these have made an object of the catalog, a tag or a branch, by operation
	trace  []string

	instances []*instance

	transaction string // that the clients alter, see transactions_test.go
	queue       *queue // of jobs, see jobs_test.go

	works   bool     // there are workers, see workers_test.go
	divides bool     // queries run as parts, see calls_test.go
	witness *witness // of versions
	wrong   string   // what the witness has found

	record    func(event) // into the history
	wrongCall string      // what a function has found, see functions_test.go

	callees [3]*instance   // that run parts of queries
	running map[string]int // calls by part
	revoked bool           // the reader has no right now
}

// odds are the chances of faults, each of one request to storage, in thousandths.
type odds struct {
	crash, crashAfter int // the instance dies before or after the request is carried out
	lost, reset       int // no answer, after and before it is carried out
	broken, busy      int // 500 and 503
	conflict          int // 409, of conditional writes
	late              int // no answer, and it is carried out later
	freeze            int // the instance, with all that it has asked
	leap              int // of time, past the leases
	resend, twice     int // of requests to instances: again without an answer; two at once
	crowded, slow     int // of calls of parts: no instance is free; the answer comes late
	skew              time.Duration
}

// newOdds draws odds: some faults happen in a history and others do not, so that what needs
// many of one kind is met, too.
func newOdds(rng *rand.Rand) odds {
	some := func(most int) int { return rng.IntN(2) * rng.IntN(most+1) }
	return odds{
		crash: some(25), crashAfter: some(25), lost: some(60), reset: some(60), broken: some(60), busy: some(60),
		conflict: some(150), late: some(40), freeze: some(20), leap: some(20), resend: 700, twice: some(300),
		skew: time.Duration(some(20)) * time.Second,
	}
}

// A parked is something that waits for the scheduler: a request of an instance to storage, or
// a client that is about to do something.
type parked struct {
	who      string // for the trace and the order
	instance *instance
	sent     *sent // nil of a client
	grant    chan verdict
	gone     bool      // nobody waits for it any more
	until    time.Time // it does not happen before
}

// compare puts what waits in an order that depends on nothing but what it is.
func (p *parked) compare(other *parked) int {
	if c := cmp.Compare(p.who, other.who); c != 0 || p.sent == nil || other.sent == nil {
		return c
	}
	return cmp.Or(cmp.Compare(p.sent.url.Path, other.sent.url.Path), bytes.Compare(p.sent.body, other.sent.body))
}

// A verdict is what becomes of a request.
type verdict struct {
	answer answer
	err    error
	by     []*instance // that run what was called
}

var (
	errDied  = errors.New("the instance has died")
	errReset = errors.New("connection reset by peer")
	errOver  = errors.New("the history is over")
)

func newWorld(seed uint64) *world {
	w := &world{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), bucket: newBucket(), table: newTable(),
		lateBy: map[string]int{}, running: map[string]int{}, clock: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	w.odds = newOdds(w.rng)
	w.queue, w.witness = newQueue(seed), newWitness(w)
	w.wired, w.files = w.rng.IntN(10) == 0, w.rng.IntN(4) == 0
	return w
}

// note adds a line to the trace.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, fmt.Sprintf("%5d  ", w.step)+fmt.Sprintf(format, args...))
}

func (w *world) now() (step int64, clock time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.step, w.clock
}

// park waits for the scheduler.
func (w *world) park(ctx context.Context, p *parked) verdict {
	p.grant = make(chan verdict, 1)
	w.mu.Lock()
	switch {
	case w.over:
		w.mu.Unlock()
		return verdict{err: errOver}
	case p.instance != nil && p.instance.dead:
		w.mu.Unlock()
		return verdict{err: errDied}
	}
	w.parked = append(w.parked, p)
	w.mu.Unlock()
	select {
	case v := <-p.grant:
		return v
	case <-ctx.Done():
		w.mu.Lock()
		p.gone = true
		w.mu.Unlock()
		return verdict{err: ctx.Err()}
	}
}

// A tick is how far time goes when nothing else can happen. All pauses between attempts are shorter, so
// that the order in which they end does not matter. Real clients send a request once more beside the first
// after a second, and end an attempt after two: their ticks are shorter, so that these do not come together.
const (
	tick      = 2100 * time.Millisecond
	wiredTick = 900 * time.Millisecond
)

func (w *world) tick() time.Duration {
	if w.wired {
		return wiredTick
	}
	return tick
}

// ticks returns how many ticks take as long as n of those without real clients.
func (w *world) ticks(n int) int { return int(time.Duration(n) * tick / w.tick()) }

// moment is the time of one step: so little that no pause between attempts ends while there is
// something else to do.
const moment = 2 * time.Nanosecond

// run lets things happen until done says that it is enough.
func (w *world) run(done func() bool) error {
	idle := 0
	for {
		synctest.Wait()
		if done() {
			return nil
		}
		// A little time passes with each step, so that those who wait for as long as others,
		// but not since the same step, do not wake together.
		time.Sleep(moment)
		synctest.Wait()
		w.mu.Lock()
		w.step++
		w.chance.begin(w.step)
		w.clock = w.clock.Add(time.Millisecond)
		p, ghost := w.choose()
		leap := p != nil && p.instance != nil && w.fault(w.odds.leap)
		w.mu.Unlock()
		switch {
		case ghost != nil:
			idle = 0
			w.note("late: %s", ghost)
			w.carryOutLate(ghost)
		case p != nil:
			idle = 0
			if leap {
				w.leap()
			}
			w.decide(p)
		default:
			if idle++; idle > w.ticks(1000) {
				return errors.New("nothing happens any more, and not everybody has finished")
			}
			w.pass(w.tick())
		}
	}
}

// pass lets time pass, and frozen instances go on when their time has come.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.clock = w.clock.Add(d)
	w.mu.Unlock()
	time.Sleep(d)
}

// leap lets so much time pass that leases run out, for those that wait.
func (w *world) leap() {
	w.note("time passes")
	for range w.ticks(10 + w.rng.IntN(10)) {
		w.pass(w.tick())
		synctest.Wait()
	}
}

// fault throws the dice.
func (w *world) fault(thousandths int) bool {
	return !w.calm && thousandths > 0 && w.rng.IntN(1000) < thousandths
}

// choose picks what happens next, of those that wait, if anything can.
func (w *world) choose() (*parked, *sent) {
	slices.SortStableFunc(w.parked, (*parked).compare)
	w.parked = slices.DeleteFunc(w.parked, func(p *parked) bool {
		if p.gone && p.sent.isWrite() && w.rng.IntN(2) == 0 {
			w.ghosts = append(w.ghosts, p.sent)
		}
		return p.gone
	})
	if len(w.ghosts) > 0 && w.rng.IntN(20) == 0 {
		ghost := w.ghosts[0]
		w.ghosts = w.ghosts[1:]
		return nil, ghost
	}
	able := make([]*parked, 0, len(w.parked))
	for _, p := range w.parked {
		if !w.clock.Before(p.until) && (p.instance == nil || !w.clock.Before(p.instance.frozen)) {
			able = append(able, p)
		}
	}
	if len(able) == 0 {
		return nil, nil
	}
	chosen := able[w.rng.IntN(len(able))]
	w.parked = slices.DeleteFunc(w.parked, func(p *parked) bool { return p == chosen })
	return chosen, nil
}

// decide lets a request happen, with or without a fault.
func (w *world) decide(p *parked) {
	if p.sent == nil {
		p.grant <- verdict{}
		return
	}
	o := w.odds
	switch write := p.sent.isWrite(); {
	case p.instance.deadNow():
		p.grant <- verdict{err: errDied}
	case p.instance.plan != nil && p.instance.plan(w, p):
	case p.sent.call != noCall:
		w.decideCall(p)
	case w.fault(o.crash):
		w.note("%s: DIES BEFORE IT", p.who)
		w.kill(p)
	case w.fault(o.crashAfter):
		w.note("%s: DIES AFTER IT", p.who)
		w.carryOut(p.sent)
		w.kill(p)
	case w.fault(o.freeze):
		w.note("%s: FREEZES", p.who)
		w.freeze(p)
	case w.fault(o.lost):
		w.note("%s: ANSWER LOST", p.who)
		w.carryOut(p.sent)
		p.grant <- verdict{err: errReset}
	case w.fault(o.reset):
		w.note("%s: LOST", p.who)
		p.grant <- verdict{err: errReset}
	case write && w.fault(o.late):
		w.note("%s: WILL BE LATE", p.who)
		w.ghosts = append(w.ghosts, p.sent)
		p.grant <- verdict{err: errReset}
	case w.fault(o.broken):
		w.refuse(p, http.StatusInternalServerError)
	case w.fault(o.busy):
		w.refuse(p, http.StatusServiceUnavailable)
	case p.sent.isConditional() && w.fault(o.conflict):
		w.refuse(p, http.StatusConflict)
	default:
		a := w.carryOut(p.sent)
		w.note("%s: %d", p.who, a.status)
		p.grant <- verdict{answer: a}
	}
}

// refuse answers without carrying anything out.
func (w *world) refuse(p *parked, status int) {
	w.note("%s: %d AS A FAULT", p.who, status)
	var a answer
	switch record := p.sent.isRecord(); {
	case record && status == http.StatusInternalServerError:
		a = refused(status, "InternalServerError")
	case record:
		a = refused(http.StatusBadRequest, "ThrottlingException")
	case status == http.StatusInternalServerError:
		a = refusal(status, "InternalError")
	case status == http.StatusServiceUnavailable:
		a = refusal(status, "SlowDown")
	default:
		a = refusal(status, "ConditionalRequestConflict")
	}
	p.grant <- verdict{answer: a}
}

// carryOut does what a request asks.
func (w *world) carryOut(r *sent) answer {
	if r.isRecord() {
		return w.table.serve(r)
	}
	_, clock := w.now()
	a := w.bucket.serve(r, clock)
	if w.witness.look != nil && r.method == http.MethodPut && a.status == http.StatusOK && strings.HasSuffix(r.url.Path, ".manifest") {
		w.witness.published(strings.TrimPrefix(r.url.Path, "/bucket/"))
	}
	return a
}

// carryOutLate does what a request asks that everybody has given up.
func (w *world) carryOutLate(r *sent) {
	a := w.carryOut(r)
	names := strings.Contains(r.url.Path, "/_catalog/") || strings.Contains(r.url.Path, "/_refs/")
	if names && r.header.Get("If-None-Match") != "" && a.status == http.StatusOK {
		w.lateBy[r.by]++
	}
}

// kill ends an instance. All that it has asked and all that it will ask fails.
func (w *world) kill(p *parked) {
	p.grant <- verdict{err: errDied}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.instance.dead = true
	w.parked = slices.DeleteFunc(w.parked, func(other *parked) bool {
		if other.instance != p.instance {
			return false
		}
		other.grant <- verdict{err: errDied}
		return true
	})
	close(p.instance.died)
}

// end ends an instance by its own doing.
func (i *instance) end() {
	w := i.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.dead {
		return
	}
	i.dead = true
	w.parked = slices.DeleteFunc(w.parked, func(other *parked) bool {
		if other.instance == i {
			other.grant <- verdict{err: errDied}
		}
		return other.instance == i
	})
	close(i.died)
}

// freeze parks the request again, and lets nothing of the instance happen for a while.
func (w *world) freeze(p *parked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.instance.frozen = w.clock.Add(time.Duration(w.rng.IntN(90)) * time.Second)
	w.parked = append(w.parked, p)
}

// calmDown ends the faults: what is frozen goes on.
func (w *world) calmDown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = true
	for _, i := range w.instances {
		i.frozen = time.Time{}
	}
	for _, p := range w.parked {
		p.until = time.Time{}
	}
}

// end lets all that still runs come to its end, also what pauses between two attempts.
func (w *world) end() {
	w.mu.Lock()
	w.over = true
	for _, p := range w.parked {
		p.grant <- verdict{err: errOver}
	}
	w.parked = nil
	w.mu.Unlock()
	time.Sleep(time.Hour)
	synctest.Wait()
}

// A wire is the HTTP client of one instance's SDK.
type wire struct {
	world    *world
	instance *instance
}

// Do implements the HTTP client that the SDK wants.
func (h *wire) Do(r *http.Request) (*http.Response, error) {
	s := &sent{method: r.Method, url: r.URL, header: r.Header.Clone()}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = body
	}
	v := h.world.ask(r.Context(), h.instance, s)
	if v.err != nil {
		return nil, v.err
	}
	length := int64(len(v.answer.body))
	if text := v.answer.header.Get("Content-Length"); text != "" {
		length, _ = strconv.ParseInt(text, 10, 64)
	}
	return &http.Response{
		StatusCode: v.answer.status, Status: http.StatusText(v.answer.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: v.answer.header, Body: io.NopCloser(bytes.NewReader(v.answer.body)), ContentLength: length, Request: r,
	}, nil
}

// ask sends a request of an instance to storage.
func (w *world) ask(ctx context.Context, i *instance, s *sent) verdict {
	w.bugs.send(s)
	who, _ := ctx.Value(whoKey{}).(string)
	s.by, _, _ = strings.Cut(who, "/")
	return w.bugs.receive(w.park(ctx, &parked{who: i.name + " " + who + " " + s.String(), instance: i, sent: s}))
}

// whoKey is the key of what a request to storage belongs to, in its context.
type whoKey struct{}
