package simulation_test

import (
	"cmp"
	"fmt"
	"testing"

	"tiltyard/shared/catalog/objects"
)

// A mutation is one operation, in a world that is prepared for it.
type mutation struct {
	name    string
	about   domain
	prepare func(c *client)
	run     func(c *client) *op
}

func namesFirst(c *client) {
	for _, id := range []string{"p", "pq"} {
		c.do(c.createNamespace(id, "Create"))
	}
	c.do(c.declare("p$d"))
}

var nothing = func(*client) {}

// mutations are all operations that change something.
var mutations = []mutation{
	{"create a namespace", names, nothing, func(c *client) *op { return c.createNamespace("p", "Create") }},
	{"create a namespace inside another", names, namesFirst, func(c *client) *op { return c.createNamespace("p$x", "Create") }},
	{"keep a namespace that may exist", names, nothing, func(c *client) *op { return c.createNamespace("p", "ExistOk") }},
	{"drop a namespace", names, namesFirst, func(*client) *op { return dropNamespace("pq") }},
	{"drop a namespace that is not empty", names, namesFirst, func(*client) *op { return dropNamespace("p") }},
	{"drop a namespace with all it holds", names, func(c *client) {
		namesFirst(c)
		c.do(c.createNamespace("p$x", "Create"))
		c.do(c.declare("p$x$d"))
	}, func(*client) *op { return cascade("p") }},
	{"declare a table", names, namesFirst, func(c *client) *op { return c.declare("pq$d") }},
	{"register a table", names, namesFirst, func(c *client) *op { return c.register("pq$d", "Create") }},
	{"register a table in the place of another", names, namesFirst, func(c *client) *op { return c.register("p$d", "Overwrite") }},
	{"declare two tables together", names, namesFirst, func(c *client) *op { return c.commitBatch("p$e", "pq$d", true) }},
	{"declare a table and deregister another", names, namesFirst, func(c *client) *op { return c.commitBatch("pq$d", "p$d", false) }},
	{"drop a table", names, namesFirst, func(*client) *op { return removeTable("drop", "p$d") }},
	{"deregister a table", names, namesFirst, func(*client) *op { return removeTable("deregister", "p$d") }},
	{"rename a table", names, namesFirst, func(*client) *op { return rename("p$d", "p$e") }},
	{"rename a table into another namespace", names, namesFirst, func(*client) *op { return rename("p$d", "pq$d") }},
	{"insert rows", rows, nothing, func(c *client) *op { return c.insert() }},
	{"merge a row that is there", rows, nothing, func(c *client) *op { return merge(1, c.value()) }},
	{"merge a row that is not", rows, nothing, func(c *client) *op { return merge(7, c.value()) }},
	{"update a row", rows, nothing, func(c *client) *op { return update(1, c.value()) }},
	{"delete a row", rows, nothing, func(*client) *op { return remove(1) }},
	{"restore a version", rows, func(c *client) { c.do(remove(1)) }, func(*client) *op { return restore(1) }},
	{"delete a version", rows, func(c *client) { c.do(remove(1)) }, func(*client) *op { return deleteVersions(1) }},
	{"create a managed version", versions, nothing, func(c *client) *op { return c.createVersion("managed") }},
	{"create a version", versions, nothing, func(c *client) *op { return c.createVersion("plain") }},
	{"create a batch of versions", versions, nothing, func(c *client) *op { return c.createBatch("managed", "switched") }},
	{"create the first batch of versions", versions, nothing, func(c *client) *op { return c.createBatch("managed", "plain") }},
	{"create a tag", refs, nothing, func(c *client) *op { return c.createRef("tag", "a", 1) }},
	{"update a tag", refs, func(c *client) { c.do(c.createRef("tag", "a", 1)) }, func(*client) *op { return updateTag("a", 2) }},
	{"delete a tag", refs, func(c *client) { c.do(c.createRef("tag", "a", 1)) }, func(c *client) *op { return c.deleteRef("tag", "a") }},
	{"create a branch", refs, nothing, func(c *client) *op { return c.createRef("branch", "x", 1) }},
	{"delete a branch", refs, func(c *client) { c.do(c.createRef("branch", "x", 1)) }, func(c *client) *op { return c.deleteRef("branch", "x") }},
	{"begin a job", jobRuns, nothing, func(c *client) *op { return c.beginJob(poison{}) }},
	{"do a job", jobRuns, func(c *client) { c.do(c.beginJob(poison{})) }, func(c *client) *op {
		if m, dead, ok := c.world.queue.take(c.world); ok {
			return c.work(m, dead)
		}
		return c.beginJob(poison{})
	}},
	{"do a job that ends its process", jobRuns, func(c *client) { c.do(c.beginJob(poison{At: "count 1", Times: 2})) }, func(c *client) *op {
		if m, dead, ok := c.world.queue.take(c.world); ok {
			return c.work(m, dead)
		}
		return c.beginJob(poison{})
	}},
	{"cancel a job", jobRuns, func(c *client) { c.do(c.beginJob(poison{})) }, func(c *client) *op { return cancelJob(c.world.queue.begun[0]) }},
	{"alter a transaction", transactions, nothing, func(c *client) *op { return c.alter(setProperty("a", "1", "Overwrite"), setStatus("Running")) }},
}

// What happens at the one request to storage.
const (
	diesBefore = iota
	diesAfter
	losesAnswer
	howMany
)

var endings = [howMany]string{"dies before it", "dies after it", "loses its answer"}

// at returns the plan of an instance that something happens to at its n-th request, counted
// from when it is begun, and whether it has happened.
func at(n, ending int) (plan func(*world, *parked) bool, happened func() bool) {
	seen := 0
	return func(w *world, p *parked) bool {
		if seen++; seen != n {
			return false
		}
		w.note("%s: HERE IT %s", p.who, endings[ending])
		if ending != diesBefore {
			w.carryOut(p.sent)
		}
		if ending == losesAnswer {
			p.grant <- verdict{err: errReset}
		} else {
			w.kill(p)
		}
		return true
	}, func() bool { return seen >= n }
}

// crash runs a mutation that ends so at its n-th request, does the like of it again when all
// leases have run out, and then everything else. It says whether there was such a request.
func crash(t *testing.T, m mutation, n, ending int) (r result, happened bool) {
	const seed = 1
	within(t, seed, func(w *world) {
		w.wired, w.files, w.odds, w.queue.unsent = false, false, odds{}, 0
		h := &history{world: w}
		c := h.newClient(1, seed)
		err := h.together(1, func(int) {
			m.about.setup(c)
			m.prepare(c)
		})
		one := m.run(c)
		one.request.key = "crash"
		if err == nil {
			doomed := w.start("doomed", 0)
			plan, hit := at(n, ending)
			doomed.plan = plan
			h.slots = [3]*instance{doomed, doomed, doomed}
			err = h.together(1, func(int) { c.do(one) })
			happened = hit()
		}
		h.slots = [3]*instance{}
		if err == nil {
			w.pass(2 * objects.MinSweepAge)
			h.haveSettled()
			err = h.together(1, func(int) { c.do(m.run(c)) })
		}
		if err == nil {
			from := len(h.events)
			err = h.together(1, func(int) { m.about.finale(h.newClient(clients+1, seed)) })
			for _, e := range h.events[from:] {
				if e.outcome.unknown && !e.op.deadly || e.outcome.lostRace() && e.call > h.settled {
					r.failure = "afterwards: " + e.String()
				}
			}
			r.failure = cmp.Or(r.failure, w.queue.wrong)
		}
		if err != nil {
			r.failure = err.Error()
		}
		w.end()
		r.events, r.trace, r.settled = h.events, w.trace, h.settled
	})
	if r.failure == "" {
		r.failure = check(r.events, r.settled)
	}
	return r, happened
}

// Each mutation survives the death of its process, and the loss of an answer, at each of
// its requests to storage: what it does has happened or has not, it can be done again, and
// all else goes on.
func TestMutationsSurviveACrashAnywhere(t *testing.T) {
	settleDown(t)
	points := 0
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			for ending := range howMany {
				for n := 1; ; n++ {
					r, happened := crash(t, m, n, ending)
					if r.failure != "" {
						t.Errorf("at request %d it %s: %s", n, endings[ending], r.failure)
						r.report(t)
						return
					}
					if !happened {
						break
					}
					points++
				}
			}
		})
	}
	t.Log(fmt.Sprint(points), "points")
}
