package simulation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// facts are the state of a model: names with values, as a text that equal states share.
// They are not changed, only made anew.
type facts string

// with returns the facts with one more, or another value.
func (f facts) with(name, value string) facts {
	lines := f.without(name).lines()
	line := name + "=" + value
	i, _ := slices.BinarySearch(lines, line)
	return facts(strings.Join(slices.Insert(lines, i, line), "\n"))
}

func (f facts) without(name string) facts {
	return facts(strings.Join(slices.DeleteFunc(f.lines(), func(line string) bool { return strings.HasPrefix(line, name+"=") }), "\n"))
}

func (f facts) lines() []string {
	if f == "" {
		return nil
	}
	return strings.Split(string(f), "\n")
}

// get returns the value of a name, and whether there is one.
func (f facts) get(name string) (string, bool) {
	for _, line := range f.lines() {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (f facts) has(name string) bool {
	_, ok := f.get(name)
	return ok
}

// names returns the names that begin with a prefix, without it, in order.
func (f facts) names(prefix string) []string {
	var found []string
	for _, line := range f.lines() {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			name, _, _ = strings.Cut(name, "=")
			found = append(found, name)
		}
	}
	return found
}

// An outcome is what a client knows of an operation.
type outcome struct {
	unknown bool // it may have happened, or may yet happen
	status  int
	code    int // of an error
	body    []byte
	// taken are the versions that are known to be made by others: what is not known to have
	// happened has not made them, but may have joined them if they are true. It is set
	// where the history is checked.
	taken map[int]bool
}

func (o outcome) ok() bool { return !o.unknown && o.status < 300 }

// refusedWith reports whether the operation was refused with one of the codes.
func (o outcome) refusedWith(codes ...int) bool {
	return !o.unknown && o.status >= 300 && slices.Contains(codes, o.code)
}

// lostRace says that nothing happened, because something else did.
func (o outcome) lostRace() bool { return o.refusedWith(14) }

// decode reads a JSON answer.
func (o outcome) decode(v any) {
	if err := json.Unmarshal(o.body, v); err != nil {
		panic(fmt.Sprintf("answer %.200s: %v", o.body, err))
	}
}

func (o outcome) String() string {
	switch {
	case o.unknown:
		return "?"
	case o.ok() && len(o.body) > 0 && o.body[0] == '{':
		return fmt.Sprintf("%d %.300s", o.status, o.body)
	case o.ok():
		return fmt.Sprint(o.status, " ", rowsIn(o.body))
	}
	return fmt.Sprintf("%d code %d %.200s", o.status, o.code, o.body)
}

// An op is one operation of a client and its meaning.
type op struct {
	domain  string // whose state it is about
	text    string
	request request
	learn   func(o outcome)     // what the client remembers of it; may be nil
	made    func(o outcome) int // the version that it is known to have made; may be nil
	// apply returns the states that may follow a state when this is what the client knows
	// of it; none when it cannot have known that.
	apply func(f facts, o outcome) []facts
	// parts are what may happen besides, each at a time of its own, while the operation runs.
	parts []func(f facts) []facts
	// deadly says that whoever serves the operation may end by it, and then nobody answers.
	deadly bool
	// refused is one more part of an operation that was refused; may be nil.
	refused func(f facts) []facts
	// late is what a put of the operation does that is carried out after everybody has given it up,
	// although a later attempt was answered; may be nil.
	late func(f facts) []facts
	// objects are the readings of an operation that reads several objects, one after the other; nil of
	// others.
	objects []*op
}

// usual is the meaning of an operation that does something or is refused. done returns the
// state after it, false when it cannot be done. refused says whether the refusal is right.
func usual(done func(f facts, o outcome) (facts, bool), refused func(f facts, o outcome) bool) func(facts, outcome) []facts {
	return func(f facts, o outcome) []facts {
		switch {
		case o.unknown:
			if next, ok := done(f, o); ok {
				return []facts{f, next}
			}
			return []facts{f}
		case o.ok():
			if next, ok := done(f, o); ok {
				return []facts{next}
			}
			return nil
		case o.lostRace() || refused(f, o):
			return []facts{f}
		}
		return nil
	}
}

// reading is the meaning of an operation that changes nothing: right says whether the answer is.
func reading(right func(f facts, o outcome) bool) func(facts, outcome) []facts {
	return func(f facts, o outcome) []facts {
		if o.unknown || o.lostRace() || right(f, o) {
			return []facts{f}
		}
		return nil
	}
}

// An event is an operation that was done.
type event struct {
	client    int
	by        string // as the requests of the operation are marked: see [whoKey]
	op        *op
	call, end int64
	outcome   outcome
	late      int // puts that were carried out after everybody had given them up: see [world.lateBy]
}

func (e event) String() string {
	return fmt.Sprintf("%5d-%-5d client %d  %s  ->  %s", e.call, e.end, e.client, e.op.text, e.outcome)
}

// A part is a thing that may have happened while an event did.
type part func(f facts) []facts

// model is the same for all domains: operations bring their meaning along.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{facts("")} },
	Step: func(state, input, output any) []any {
		var next []facts
		switch in := input.(type) {
		case *op:
			next = in.apply(state.(facts), output.(outcome))
		case part:
			next = in(state.(facts))
		}
		states := make([]any, len(next))
		for i, f := range next {
			states[i] = f
		}
		return states
	},
}).ToModel()

// firstWrong returns the event after which no order explains a history any more.
func firstWrong(events []event, settled int64) string {
	ends := make([]int64, len(events))
	for i, e := range events {
		ends[i] = e.end
	}
	slices.Sort(ends)
	n, _ := slices.BinarySearchFunc(ends, true, func(end int64, _ bool) int {
		var until []event
		for _, e := range events {
			if e.end > end {
				e.outcome = outcome{unknown: true}
			}
			if e.call <= end {
				until = append(until, e)
			}
		}
		if check(until, settled) == "" {
			return -1
		}
		return 1
	})
	for _, e := range events {
		if n < len(ends) && e.end == ends[n] {
			return e.String()
		}
	}
	return "none"
}

const tooLong = " is too long to be checked"

// checkTime bounds the search for an order that explains a history.
const checkTime = 5 * time.Second

// check reports whether events are linearizable, domain by domain: "" or what is wrong. What
// had no answer has happened, if it ever did, until the world had settled.
func check(events []event, settled int64) string {
	domains := map[string][]porcupine.Operation{}
	taken := map[int]bool{}
	for _, e := range events {
		if e.op.made != nil {
			version := e.op.made(e.outcome)
			taken[version] = taken[version] || strings.HasPrefix(e.op.text, "insert")
		}
	}
	for _, e := range events {
		e.outcome.taken = taken
		end := e.end
		if e.outcome.unknown {
			end = max(end, settled)
		}
		add := func(domain string, input, output any, end int64) {
			domains[domain] = append(domains[domain], porcupine.Operation{
				ClientId: e.client, Input: input, Call: e.call, Output: output, Return: end,
			})
		}
		for _, reading := range e.op.objects {
			add(reading.domain, reading, e.outcome, end)
		}
		if e.op.objects == nil {
			add(e.op.domain, e.op, e.outcome, end)
		}
		for _, p := range e.op.parts {
			add(e.op.domain, part(p), nil, end)
		}
		if e.op.late != nil {
			for range e.late {
				add(e.op.domain, part(e.op.late), nil, max(end, settled))
			}
		}
		if e.op.refused != nil && !e.outcome.unknown && !e.outcome.ok() {
			add(e.op.domain, part(e.op.refused), nil, end)
		}
	}
	for domain, operations := range domains {
		switch porcupine.CheckOperationsTimeout(model, operations, checkTime) {
		case porcupine.Illegal:
			return "the history of the " + domain + " is not linearizable"
		case porcupine.Unknown:
			return "the history of the " + domain + tooLong
		}
	}
	return ""
}
