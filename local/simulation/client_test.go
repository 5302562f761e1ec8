package simulation_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// A client sends one operation after another, to any instance, and sends again what it gets
// no answer to.
type client struct {
	*history
	number int
	rng    *rand.Rand
	sent   int
	memory map[string]any // of domains: what the client has seen
}

// patience is how long a client goes on sending a request again. It is shorter than the note
// of a request may live that its instance died over: who comes after that is a stranger.
const patience = 25 * time.Second

// do does one operation and records it.
func (c *client) do(o *op) outcome {
	c.world.park(background, &parked{who: fmt.Sprintf("client %d", c.number)})
	step, began := c.world.now()
	c.sent++
	if c.rng.IntN(4) > 0 {
		o.request.key = fmt.Sprintf("%d-%d", c.number, c.sent)
	}
	c.world.note("client %d: %s", c.number, o.text)
	got := c.try(o)
	for doubt := got.unknown; doubt && o.request.key != "" && c.rng.IntN(1000) < c.world.odds.resend; {
		if _, now := c.world.now(); now.Sub(began) > patience {
			break
		}
		c.world.note("client %d: %s, again", c.number, o.text)
		if again := c.try(o); again.ok() {
			got = again
			break
		}
	}
	end, _ := c.world.now()
	e := event{client: c.number, op: o, call: step, end: end, outcome: got, by: fmt.Sprintf("%d-%d", c.number, c.sent)}
	c.world.note("client %d: %s  ->  %s", c.number, o.text, got)
	c.record(e)
	if o.learn != nil {
		o.learn(got)
	}
	return got
}

// try sends an operation to one instance, or to two at once.
func (c *client) try(o *op) outcome {
	if o.request.key == "" || c.rng.IntN(1000) >= c.world.odds.twice {
		return classify(c.instance().serve(fmt.Sprintf("%d-%d", c.number, c.sent), o.request))
	}
	var both [2]outcome
	var wait sync.WaitGroup
	for n, i := range []*instance{c.instance(), c.instance()} {
		wait.Go(func() {
			time.Sleep(time.Duration(n) * moment / 2) // see moment
			both[n] = classify(i.serve(fmt.Sprintf("%d-%d/%d", c.number, c.sent, n), o.request))
		})
	}
	wait.Wait()
	switch a, b := both[0], both[1]; {
	case a.ok():
		return a
	case b.ok():
		return b
	case a.unknown, b.unknown:
		return outcome{unknown: true}
	case a.lostRace():
		return b
	default:
		return a
	}
}

// classify reads a response. All but a plain refusal may have happened.
func classify(r response) outcome {
	o := outcome{status: r.status, body: r.body}
	switch {
	case r.status == 0 || r.status >= 500:
		return outcome{unknown: true, status: r.status, body: r.body}
	case r.status >= 300:
		var problem struct{ Code int }
		if err := json.Unmarshal(r.body, &problem); err != nil {
			panic(fmt.Sprintf("status %d with %.200q", r.status, r.body))
		}
		o.code = problem.Code
	}
	return o
}

// instance returns one that lives: a new one where the last has died.
func (c *client) instance() *instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := c.rng.IntN(len(c.slots))
	if i := c.slots[slot]; i == nil || i.deadNow() {
		c.started++
		skew := time.Duration(0)
		if most := c.world.odds.skew; most > 0 {
			skew = time.Duration(c.rng.Int64N(int64(2*most))) - most
		}
		c.slots[slot] = c.world.start(fmt.Sprintf("i%02d", c.started), skew)
	}
	return c.slots[slot]
}
