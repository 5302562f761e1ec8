package simulation_test

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/work/maintain"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed alone")
	seedsFlag = flag.Int("seeds", 0, "how many seeds to run instead of the usual number")
)

var background = context.Background()

// A history is what some clients do in a world.
type history struct {
	world *world

	mu      sync.Mutex
	slots   [3]*instance
	started int
	events  []event
	settled int64 // the step after which nothing is on its way
}

// haveSettled says that nothing is on its way any more. Versions that are entered in a ledger
// are, even when their writers have died: the next writer makes them.
func (h *history) haveSettled() { h.settled, _ = h.world.now() }

func (h *history) record(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *history) newClient(number int, seed uint64) *client {
	return &client{history: h, number: number, rng: rand.New(rand.NewPCG(seed, uint64(number)+1)), memory: map[string]any{}}
}

// A domain is a part of the interface with a state of its own.
type domain struct {
	name   string
	setup  func(c *client)     // makes what the operations are about, in a calm world
	draw   func(c *client) *op // the next operation of a client
	finale func(c *client)     // does everything once more

	// Domains of work in jobs have workers, and a witness of what these make; see workers_test.go.
	works   bool
	divides bool            // its queries run as parts, see calls_test.go
	upkeep  func(c *client) // what is done long after the finale, when files are old
	look    func(o *witness) func(ctx context.Context, t *engine.Table, d *dataset.Dataset) (wrong string)
}

var domains = []domain{names, rows, versions, refs, transactions, jobRuns}

const (
	clients    = 3
	operations = 7 // of each client
)

// domainsOf chooses what a history is about: most of one thing, sometimes of two.
func domainsOf(seed uint64) []domain {
	first := domains[seed%uint64(len(domains))]
	second := domains[(seed/20)%uint64(len(domains))]
	if seed%4 != 3 || first.name == second.name {
		return []domain{first}
	}
	return []domain{first, second}
}

// result is what is known of a history afterwards.
type result struct {
	events  []event
	trace   []string
	failure string
	steps   int64
	settled int64 // when nothing was on its way any more
	counts  map[string]int
}

// simulate runs the history of a seed.
func simulate(t *testing.T, seed uint64, about []domain, planted bug) (r result) {
	within(t, seed, func(w *world) {
		w.bugs = planted
		if planted.odds != nil {
			planted.odds(&w.odds)
		}
		if w.divides = about[0].divides; w.divides {
			w.odds.crowded, w.odds.slow = int(seed/2%3*100), int(seed%4*60)
		}
		if w.works = about[0].works; w.works {
			w.witness.look = about[0].look(w.witness)
		}
		h := &history{world: w}
		w.record = h.record
		r.failure = h.play(seed, about)
		w.end()
		for i := range h.events {
			h.events[i].late = w.lateBy[h.events[i].by]
		}
		r.events, r.trace, r.steps, r.settled, r.counts = h.events, w.trace, w.step, h.settled, w.witness.counts
	})
	if r.failure == "" {
		r.failure = check(r.events, r.settled)
	}
	return r
}

// within lets something happen in a world of its own.
func within(t *testing.T, seed uint64, happen func(w *world)) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed) // also for who has taken it before
	chance := newChance(seed)
	before := cryptorand.Reader
	cryptorand.Reader = chance
	uuid.SetRand(chance)
	undisturbed(func() {
		synctest.Test(t, func(*testing.T) {
			w := newWorld(seed)
			w.chance = chance
			happen(w)
		})
	})
	cryptorand.Reader = before
	uuid.SetRand(nil)
}

// play lets the clients loose, and when they are done lets a fresh one do everything.
func (h *history) play(seed uint64, about []domain) string {
	h.world.calm = true
	err := h.together(1, func(int) {
		c := h.newClient(0, seed)
		for _, d := range about {
			d.setup(c)
		}
	})
	if err != nil {
		return "setup: " + err.Error()
	}
	h.world.calm = false
	h.slots = [3]*instance{}
	err = h.together(clients, func(n int) {
		c := h.newClient(n+1, seed)
		for range operations {
			c.do(about[c.rng.IntN(len(about))].draw(c))
		}
	})
	if err != nil {
		return err.Error()
	}
	h.world.calmDown()
	if err := h.settle(); err != nil {
		return err.Error()
	}
	h.world.pass(2 * objects.MinSweepAge)
	h.haveSettled()
	h.slots = [3]*instance{}
	from := len(h.events)
	err = h.together(1, func(int) {
		c := h.newClient(clients+1, seed)
		for _, d := range about {
			d.finale(c)
		}
	})
	if err == nil && about[0].upkeep != nil {
		h.world.pass(2 * maintain.DefaultFileAge)
		err = h.together(1, func(int) { about[0].upkeep(h.newClient(clients+2, seed)) })
	}
	if err != nil {
		return "afterwards: " + err.Error()
	}
	for _, e := range h.events[from:] {
		if e.outcome.unknown && !e.op.deadly || e.outcome.lostRace() && e.call > h.settled {
			return "afterwards, with nobody else about: " + e.String()
		}
	}
	return cmp.Or(h.world.queue.wrong, h.world.wrong, h.world.wrongCall)
}

// together runs clients until all of them have ended.
func (h *history) together(n int, run func(n int)) error {
	var mu sync.Mutex
	left := n
	for i := range n {
		go func() {
			run(i)
			mu.Lock()
			defer mu.Unlock()
			left--
		}()
	}
	return h.world.run(func() bool {
		mu.Lock()
		defer mu.Unlock()
		return left == 0
	})
}

// settle lets what is still on its way happen, and all leases run out.
func (h *history) settle() error {
	quiet := 0
	return h.world.run(func() bool {
		h.world.mu.Lock()
		busy := len(h.world.parked) > 0 || len(h.world.ghosts) > 0
		h.world.mu.Unlock()
		if busy {
			quiet = 0
			return false
		}
		quiet++
		return quiet > h.world.ticks(100)
	})
}

// report prints what happened.
func (r result) report(t *testing.T) {
	t.Helper()
	var text strings.Builder
	for _, line := range r.trace {
		fmt.Fprintln(&text, line)
	}
	fmt.Fprintln(&text)
	for _, e := range r.events {
		fmt.Fprintln(&text, e)
	}
	t.Log("\n" + text.String())
	if r.failure != "" {
		t.Log("first unexplained: " + firstWrong(r.events, r.settled))
	}
}

// Histories of random operations under random faults are linearizable, and end in a world
// where all is well.
func TestRandomHistoriesAreLinearizable(t *testing.T) {
	settleDown(t)
	if *seedFlag != 0 {
		r := simulate(t, *seedFlag, domainsOf(*seedFlag), bug{})
		r.report(t)
		if r.failure != "" {
			t.Error(r.failure)
		}
		return
	}
	seeds := 5000
	if testing.Short() {
		seeds = 500
	}
	if *seedsFlag > 0 {
		seeds = *seedsFlag
	}
	processes(t, func(share, of int) {
		tally{about: domainsOf, counts: map[string]int{}}.all(t, uint64(share), uint64(of), uint64(seeds))
	})
}

// Clocks an hour apart end leases early, so that jobs are set aside and resumed more often than at any other
// time. Each of them is still linearizable.
func TestJobsAreLinearizableWhateverClocksTell(t *testing.T) {
	settleDown(t)
	hour := bug{odds: func(o *odds) { o.skew = time.Hour }}
	for seed := uint64(1); seed <= 60; seed++ {
		if r := simulate(t, seed, []domain{jobRuns}, hour); r.failure != "" {
			t.Errorf("seed %d: %s", seed, r.failure)
		}
	}
}

// A tally counts what histories come to.
type tally struct {
	about  func(seed uint64) []domain
	counts map[string]int // see witness
}

// all plays every so manyth history.
func (y tally) all(t *testing.T, first, every, last uint64) {
	t.Helper()
	start, steps, played, failed, long := time.Now(), int64(0), 0, 0, 0
	for seed := first; seed <= last; seed += every {
		r := simulate(t, seed, y.about(seed), bug{})
		for what, n := range r.counts {
			y.counts[what] += n
		}
		steps += r.steps
		played++
		switch {
		case r.failure == "":
			continue
		case strings.Contains(r.failure, tooLong):
			t.Logf("seed %d: %s", seed, r.failure)
			long++
			continue
		}
		failed++
		t.Errorf("seed %d: %s", seed, r.failure)
		if failed == 1 {
			r.report(t)
		}
		if failed == 20 || plantedBug != "" {
			break
		}
	}
	if long > played/100 {
		t.Errorf("%d histories are too long to be checked, want at most one in a hundred", long)
	}
	t.Logf("%d histories, %d decisions, %v", played, steps, time.Since(start).Round(time.Second))
}
