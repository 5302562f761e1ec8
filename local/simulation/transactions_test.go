package simulation_test

import (
	"fmt"
	"maps"
	"strconv"
)

// transactions is one transaction: that of a commit, which has no record before somebody
// alters it. The facts are "status" and "property <key>".
var transactions = domain{name: "transactions", setup: setupTransactions, draw: drawTransactions, finale: finishTransactions}

func setupTransactions(c *client) {
	c.do(&op{
		domain: "transactions", text: "create a table", request: request{path: "/v1/table/altered/create", body: stream(map[int]int{0: 0})},
		learn: func(o outcome) {
			var told struct {
				ID string `json:"transaction_id"`
			}
			o.decode(&told)
			c.world.transaction = told.ID
		},
		apply: func(f facts, _ outcome) []facts { return []facts{f.with("status", "Succeeded")} },
	})
}

var propertyKeys = []string{"a", "b"}

func drawTransactions(c *client) *op {
	key := propertyKeys[c.rng.IntN(2)]
	value := strconv.Itoa(c.value())
	switch c.rng.IntN(8) {
	case 0:
		return c.alter(setProperty(key, value, "Overwrite"))
	case 1:
		return c.alter(setProperty(key, value, "Fail"))
	case 2:
		return c.alter(setProperty("a", value, "Overwrite"), setProperty("b", value, "Skip"))
	case 3:
		return c.alter(unsetProperty(key, "Fail"))
	case 4:
		return c.alter(setStatus([]string{"Running", "Succeeded", "Canceled"}[c.rng.IntN(3)]), unsetProperty(key, "Skip"))
	default:
		return c.describeTransaction()
	}
}

func finishTransactions(c *client) {
	c.do(c.describeTransaction())
	c.do(c.alter(unsetProperty("a", "Skip"), setProperty("a", "last", "Fail"), setStatus("Failed")))
	c.do(c.alter(setProperty("b", "last", "Overwrite")))
	c.do(c.describeTransaction())
}

// An action is one of those of an alter, and what it makes of the facts; false when it fails.
type action struct {
	text  string
	wire  map[string]any
	apply func(f facts) (facts, bool)
}

func setProperty(key, value, mode string) action {
	return action{
		fmt.Sprintf("set %s=%s (%s)", key, value, mode),
		map[string]any{"setPropertyAction": map[string]any{"key": key, "value": value, "mode": mode}},
		func(f facts) (facts, bool) {
			switch exists := f.has("property " + key); {
			case exists && mode == "Skip":
				return f, true
			case exists && mode == "Fail":
				return f, false
			}
			return f.with("property "+key, value), true
		},
	}
}

func unsetProperty(key, mode string) action {
	return action{
		fmt.Sprintf("unset %s (%s)", key, mode),
		map[string]any{"unsetPropertyAction": map[string]any{"key": key, "mode": mode}},
		func(f facts) (facts, bool) {
			return f.without("property " + key), mode == "Skip" || f.has("property "+key)
		},
	}
}

func setStatus(status string) action {
	return action{
		"status " + status, map[string]any{"setStatusAction": map[string]any{"status": status}},
		func(f facts) (facts, bool) { return f.with("status", status), true },
	}
}

func (c *client) alter(actions ...action) *op {
	o := &op{domain: "transactions", text: "alter:"}
	var wire []map[string]any
	for _, a := range actions {
		o.text += " " + a.text
		wire = append(wire, a.wire)
	}
	all := func(f facts) (facts, bool) {
		before := f
		for _, a := range actions {
			var ok bool
			if f, ok = a.apply(f); !ok {
				return before, false
			}
		}
		return f, true
	}
	o.request = post("/v1/transaction/"+c.world.transaction+"/alter", map[string]any{"actions": wire})
	o.apply = usual(func(f facts, _ outcome) (facts, bool) { return all(f) }, func(f facts, got outcome) bool {
		_, possible := all(f)
		return got.refusedWith(13) && !possible
	})
	return o
}

func (c *client) describeTransaction() *op {
	return &op{
		domain: "transactions", text: "describe the transaction",
		request: post("/v1/transaction/"+c.world.transaction+"/describe", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			if !o.ok() {
				return false
			}
			var told struct {
				Status     string
				Properties map[string]string
			}
			o.decode(&told)
			got, want := map[string]string{"status": told.Status}, map[string]string{}
			want["status"], _ = f.get("status")
			for _, key := range propertyKeys {
				if value, set := told.Properties[key]; set {
					got[key] = value
				}
				if value, set := f.get("property " + key); set {
					want[key] = value
				}
			}
			return maps.Equal(got, want)
		}),
	}
}
