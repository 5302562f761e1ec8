package simulation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tiltyard/shared/lance/manifest"
)

// names are namespaces and tables without data. The facts are "n <id>" of a namespace and
// "t <id>" of a table, each with the number of the operation that created it.
//
// A creation whose client got no answer may come true after its namespace was dropped: the
// last request of an instance that died can be carried out at any time. Such an orphan can
// be seen, is in the namespace when there is one of that name again, and goes with it, or
// with a sweep when it is old. What a creation has put that is refused, as its namespace was
// dropped meanwhile, can be seen until it is taken back: see takenBack.
var names = domain{name: "names", setup: setupNames, draw: drawName, finale: finishNames}

var (
	namespaceIDs = []string{"p", "pq", "p$x"}
	tableIDs     = []string{"d", "p$d", "p$e", "pq$d", "p$x$d"}
)

// otherTables are in the root, too.
var otherTables = []string{"rows", "managed", "switched", "plain", "refs", "altered", "source"}

// setupNames makes a table of which others are copies that have no name yet.
func setupNames(c *client) {
	c.do(&op{
		domain: "names", text: "create table source", request: request{path: "/v1/table/source/create", body: stream(map[int]int{0: 0})},
		apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
	})
}

func drawName(c *client) *op {
	namespace := func() string { return namespaceIDs[c.rng.IntN(len(namespaceIDs))] }
	table := func() string { return tableIDs[c.rng.IntN(len(tableIDs))] }
	switch c.rng.IntN(20) {
	case 16:
		return c.register(table(), "Create")
	case 17:
		return c.register(table(), "Overwrite")
	case 18, 19:
		a := c.rng.IntN(len(tableIDs))
		b := (a + 1 + c.rng.IntN(len(tableIDs)-1)) % len(tableIDs)
		return c.commitBatch(tableIDs[a], tableIDs[b], c.rng.IntN(2) == 0)
	case 0, 1, 2:
		return c.createNamespace(namespace(), "Create")
	case 3:
		return c.createNamespace(namespace(), "ExistOk")
	case 4, 5:
		return dropNamespace(namespace())
	case 6:
		return cascade(namespace())
	case 7, 8, 9:
		return c.declare(table())
	case 10:
		return removeTable("drop", table())
	case 11:
		return removeTable("deregister", table())
	case 12:
		return rename(table(), table())
	case 13:
		return describeTable(table())
	case 14:
		return listNames("table/list", "tables", "t ", []string{"", "p", "pq", "p$x"}[c.rng.IntN(4)])
	default:
		return listNames("list", "namespaces", "n ", []string{"", "p"}[c.rng.IntN(2)])
	}
}

// finishNames looks at everything, drops it and makes it anew.
func finishNames(c *client) {
	for _, id := range tableIDs {
		c.do(describeTable(id))
	}
	c.do(sweep())
	for _, id := range []string{"", "p"} {
		c.do(listNames("table/list", "tables", "t ", id))
		c.do(listNames("list", "namespaces", "n ", id))
	}
	for _, id := range []string{"p", "pq"} {
		c.do(cascade(id))
	}
	c.do(removeTable("drop", "d"))
	c.do(sweep()) // which takes what was in p$x, if p$x was an orphan
	for _, id := range []string{"p", "pq"} {
		c.do(c.createNamespace(id, "Create"))
		c.do(cascade(id))
		c.do(c.createNamespace(id, "Create"))
	}
	c.do(c.declare("pq$d"))
	c.do(strictly(dropNamespace("p"))) // whose children's names are not those of pq
	c.do(cascade("pq"))
	for _, id := range namespaceIDs {
		c.do(c.createNamespace(id, "Create"))
	}
	for _, id := range tableIDs {
		c.do(c.declare(id))
	}
	c.do(dropNamespace("pq"))
	c.do(c.register("p$d", "Overwrite"))
	c.do(removeTable("drop", "p$d"))
	c.do(c.commitBatch("p$d", "p$e", false))
	c.do(removeTable("drop", "p$d"))
	c.do(c.commitBatch("p$d", "p$e", true))
	c.do(removeTable("drop", "pq$d"))
	c.do(rename("d", "pq$d"))
	c.do(listNames("table/list", "tables", "t ", "pq"))
	c.do(removeTable("deregister", "pq$d"))
	c.do(dropNamespace("pq"))
	c.do(cascade("p"))
	c.do(listNames("list", "namespaces", "n ", ""))
}

func parentOf(id string) string {
	i := strings.LastIndexByte(id, '$')
	return id[:max(i, 0)]
}

// there reports whether a namespace exists. The root, "", always does.
func there(f facts, namespace string) bool { return namespace == "" || f.has("n "+namespace) }

// children returns the ids directly inside a namespace, of a kind: "n " or "t ".
func children(f facts, kind, namespace string) []string {
	return slices.DeleteFunc(f.names(kind), func(id string) bool { return parentOf(id) != namespace })
}

func empty(f facts, namespace string) bool {
	return len(children(f, "n ", namespace)) == 0 && len(children(f, "t ", namespace)) == 0
}

// by is a name for what an operation creates.
func (c *client) by() string { return fmt.Sprintf("%d-%d", c.number, c.sent+1) }

// creatorOf reads who made what an answer tells of.
func creatorOf(o outcome) string {
	var told struct{ Properties map[string]string }
	o.decode(&told)
	return told.Properties["by"]
}

// sentAgain are the parts of an operation that makes something by one put. The client of S3
// sends a put again that it has no answer to, and if what the first has made was dropped
// meanwhile, the second makes it again.
func (c *client) sentAgain(name, by string) []func(f facts) []facts {
	if !c.world.wired {
		return nil
	}
	return []func(f facts) []facts{madeAgain(name, by)}
}

// madeAgain is a put that makes something once more if it is not there.
func madeAgain(name, by string) func(f facts) []facts {
	return func(f facts) []facts {
		if f.has(name) {
			return []facts{f}
		}
		return []facts{f, f.with(name, by)}
	}
}

// takenBack is an operation that makes something by one put and takes it back when its
// namespace turns out to be dropped meanwhile: it is refused then, but others may have seen what
// it made.
//
// The service shows it on purpose. The drop found the namespace empty and marked it before the
// put, so the order is right: drop, then an orphan that comes and goes, as it does when a creator
// dies between its put and its second look at the namespace. Who works with the orphan loses it
// as with a drop of the namespace with all it holds. To hide it, each creation would put its
// record twice, or each reader of a table would read its namespace, too, at all times, for the
// moment in which somebody drops the namespace that others create in. What the model does not
// allow is what would be a fault: an orphan that is seen again once the creator has its refusal,
// one that takes the place of another's table, and a creation that is acknowledged and taken back.
func takenBack(o *op, name, by string) *op {
	known := o.apply
	o.apply = func(f facts, got outcome) []facts {
		if got.unknown || got.ok() {
			return known(f, got)
		}
		if creator, _ := f.get(name); creator == by {
			f = f.without(name)
		}
		next := known(f, got)
		for i := range next {
			next[i] = next[i].with("refused "+by, "")
		}
		return next
	}
	o.refused = func(f facts) []facts {
		if f.has(name) || f.has("refused "+by) {
			return []facts{f}
		}
		return []facts{f, f.with(name, by)}
	}
	return o
}

func post(path string, body any) request {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return request{path: path, body: text}
}

func (c *client) createNamespace(id, mode string) *op {
	by := c.by()
	return takenBack(&op{
		domain: "names", text: fmt.Sprintf("create namespace %s (%s) by %s", id, mode, by),
		request: post("/v1/namespace/"+id+"/create", map[string]any{"mode": mode, "properties": map[string]string{"by": by}}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			if creator, exists := f.get("n " + id); exists {
				return f, mode == "ExistOk" && (o.unknown || creatorOf(o) == creator)
			}
			return f.with("n "+id, by), o.unknown || there(f, parentOf(id)) && creatorOf(o) == by
		}, func(f facts, o outcome) bool {
			return o.refusedWith(2) && f.has("n "+id) && mode == "Create" || o.refusedWith(1) && !there(f, parentOf(id))
		}),
		parts: c.sentAgain("n "+id, by), late: madeAgain("n "+id, by),
	}, "n "+id, by)
}

func dropNamespace(id string) *op {
	return &op{
		domain: "names", text: "drop namespace " + id,
		request: post("/v1/namespace/"+id+"/drop", map[string]any{"behavior": "Restrict"}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.without("n " + id), f.has("n "+id) && empty(f, id)
		}, func(f facts, o outcome) bool {
			// A child that is being created counts, and may be taken back.
			return o.refusedWith(1) && !f.has("n "+id) || o.refusedWith(3) && f.has("n "+id)
		}),
	}
}

// sweep takes away what is in no namespace, and in namespaces that are in none, if that is all.
func sweep() *op {
	return &op{
		domain: "names", text: "sweep", request: post(sweepPath, nil),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			after := f
			for _, id := range f.names("t ") {
				if !there(f, parentOf(id)) {
					after = after.without("t " + id)
				}
			}
			for _, id := range f.names("n ") {
				if !there(f, parentOf(id)) && empty(after, id) {
					after = after.without("n " + id)
				}
			}
			return after, true
		}, func(facts, outcome) bool { return false }),
	}
}

// strictly is an operation that nothing stands in the way of.
func strictly(o *op) *op {
	known := o.apply
	o.apply = func(f facts, got outcome) []facts {
		if !got.ok() {
			return nil
		}
		return known(f, got)
	}
	return o
}

// cascade drops a namespace and before that all it holds, one after the other.
func cascade(id string) *op {
	o := &op{
		domain: "names", text: "drop namespace " + id + " with all it holds",
		request: post("/v1/namespace/"+id+"/drop", map[string]any{"behavior": "Cascade"}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.without("n " + id), f.has("n "+id) && empty(f, id)
		}, func(f facts, o outcome) bool {
			return o.refusedWith(1) && !f.has("n "+id) || o.refusedWith(3) && f.has("n "+id)
		}),
	}
	for _, table := range tableIDs {
		if strings.HasPrefix(table, id+"$") {
			o.parts = append(o.parts, func(f facts) []facts { return []facts{f, f.without("t " + table)} })
		}
	}
	for _, inner := range namespaceIDs {
		if strings.HasPrefix(inner, id+"$") {
			o.parts = append(o.parts, func(f facts) []facts {
				if !empty(f, inner) {
					return []facts{f}
				}
				return []facts{f, f.without("n " + inner)}
			})
		}
	}
	return o
}

// missing reports whether a table is rightly said not to be there.
func missing(f facts, id string, o outcome) bool {
	return o.refusedWith(4) && !f.has("t "+id) || o.refusedWith(1) && !there(f, parentOf(id))
}

func (c *client) declare(id string) *op {
	by := c.by()
	return takenBack(&op{
		domain: "names", text: fmt.Sprintf("declare table %s by %s", id, by),
		request: post("/v1/table/"+id+"/declare", map[string]any{"properties": map[string]string{"by": by}}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			return f.with("t "+id, by), !f.has("t "+id) && (o.unknown || there(f, parentOf(id)))
		}, func(f facts, o outcome) bool {
			return o.refusedWith(5) && f.has("t "+id) || o.refusedWith(1) && !there(f, parentOf(id))
		}),
		parts: c.sentAgain("t "+id, by), late: madeAgain("t "+id, by),
	}, "t "+id, by)
}

// register gives a name to a table that is a copy of source, at a place of its own.
func (c *client) register(id, mode string) *op {
	by := c.by()
	place := fmt.Sprintf("copy-%d-%d.lance", c.number, c.sent)
	c.world.copySource(place)
	return takenBack(&op{
		domain: "names", text: fmt.Sprintf("register table %s (%s) by %s", id, mode, by),
		request: post("/v1/table/"+id+"/register", map[string]any{
			"location": place, "mode": mode, "properties": map[string]string{"by": by},
		}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			return f.with("t "+id, by), f.has("t "+id) && mode == "Overwrite" || !f.has("t "+id) && (o.unknown || there(f, parentOf(id)))
		}, func(f facts, o outcome) bool {
			return o.refusedWith(5) && f.has("t "+id) && mode == "Create" || o.refusedWith(1) && !there(f, parentOf(id))
		}),
		parts: c.sentAgain("t "+id, by), late: madeAgain("t "+id, by),
	}, "t "+id, by)
}

// copySource makes a table at a place, from what the client of setupNames has made.
func (w *world) copySource(place string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := slices.BinarySearch(w.bucket.keys, "source-")
	source, _, _ := strings.Cut(w.bucket.keys[i], "/")
	w.bucket.put(manifest.Key(place, 1, manifest.V2), w.bucket.objects[manifest.Key(source, 1, manifest.V2)].data, w.clock)
}

// commitBatch declares one table and, in the same moment, declares or deregisters another.
func (c *client) commitBatch(id, other string, both bool) *op {
	by := c.by()
	declare := func(id string) map[string]any {
		return map[string]any{"declare_table": map[string]any{"id": strings.Split(id, "$"), "properties": map[string]string{"by": by}}}
	}
	first, second := c.declare(id), c.declare(other)
	text, last := "declare", declare(other)
	if !both {
		second = removeTable("deregister", other)
		text, last = "deregister", map[string]any{"deregister_table": map[string]any{"id": strings.Split(other, "$")}}
	}
	part := outcome{unknown: true} // what became of each alone is not told
	return &op{
		domain: "names", text: fmt.Sprintf("declare table %s by %s and %s table %s together", id, by, text, other),
		request: post("/v1/table/batch-commit", map[string]any{"operations": []map[string]any{declare(id), last}}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			after := f
			for _, one := range []*op{first, second} {
				next := one.apply(after, part)
				if len(next) < 2 {
					return f, false // it can only not have happened
				}
				after = next[1]
			}
			return after, o.unknown || there(f, parentOf(id)) && (!both || there(f, parentOf(other)))
		}, func(f facts, o outcome) bool {
			return len(first.apply(f, o)) > 0 || len(second.apply(f, o)) > 0
		}),
	}
}

func removeTable(verb, id string) *op {
	return &op{
		domain: "names", text: verb + " table " + id, request: post("/v1/table/"+id+"/"+verb, map[string]any{}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			creator, exists := f.get("t " + id)
			return f.without("t " + id), exists && (o.unknown || creatorOf(o) == creator)
		}, func(f facts, o outcome) bool { return missing(f, id, o) }),
	}
}

// rename says where the table goes as clients do: nothing where it stays in its namespace, and
// the delimiter alone for the root.
func rename(from, to string) *op {
	namespace := []string{}
	switch parent := parentOf(to); {
	case parent == parentOf(from):
	case parent == "":
		namespace = []string{"$"}
	default:
		namespace = strings.Split(parent, "$")
	}
	return &op{
		domain: "names", text: fmt.Sprintf("rename table %s to %s", from, to),
		request: post("/v1/table/"+from+"/rename", map[string]any{
			"new_table_name": to[strings.LastIndexByte(to, '$')+1:], "new_namespace_id": namespace,
		}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			creator, exists := f.get("t " + from)
			return f.without("t "+from).with("t "+to, creator), exists && !f.has("t "+to) && there(f, parentOf(to))
		}, func(f facts, o outcome) bool {
			return missing(f, from, o) || o.refusedWith(5) && f.has("t "+to) || o.refusedWith(1) && !there(f, parentOf(to))
		}),
	}
}

func describeTable(id string) *op {
	return &op{
		domain: "names", text: "describe table " + id, request: post("/v1/table/"+id+"/describe", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			creator, exists := f.get("t " + id)
			return o.ok() && exists && creatorOf(o) == creator || missing(f, id, o)
		}),
	}
}

// listNames lists the children of a kind, "n " or "t ", of a namespace.
func listNames(path, field, kind, id string) *op {
	in := id
	if id == "" {
		in = "$"
	}
	return &op{
		domain: "names", text: "list " + field + " of " + in, request: post("/v1/namespace/"+in+"/"+path, map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			if !o.ok() {
				return o.refusedWith(1) && !there(f, id)
			}
			var told map[string]json.RawMessage
			o.decode(&told)
			var found []string
			if err := json.Unmarshal(told[field], &found); err != nil {
				return false
			}
			var want []string
			for _, child := range children(f, kind, id) {
				want = append(want, child[strings.LastIndexByte(child, '$')+1:])
			}
			found = slices.DeleteFunc(found, func(name string) bool { return slices.Contains(otherTables, name) })
			return slices.Equal(found, want) && (there(f, id) || len(want) > 0)
		}),
	}
}
