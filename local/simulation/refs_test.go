package simulation_test

import (
	"fmt"
	"slices"
	"strconv"
)

// refs are tags and branches of a table of three versions. The facts are "tag <name>", a
// version, and "branch <name>", the version that it was made from. Each is checked by itself.
//
// A creation is one put, which the storage may carry out late: after it was given up, an attempt that
// followed it was answered, and what that has made was deleted. Then the tag or branch is there again.
// No service over such a storage can prevent that without a trace of each name that was deleted.
var refs = domain{name: "refs", setup: setupRefs, draw: drawRefs, finale: finishRefs}

const refsTable = "/v1/table/refs/"

func setupRefs(c *client) {
	for version, path := range []string{"create", "insert", "insert"} {
		c.do(&op{
			domain: "refs", text: path + " rows", request: request{path: refsTable + path, body: stream(map[int]int{version: 0})},
			apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
		})
	}
}

func drawRefs(c *client) *op {
	tag, branch := refNames["tag"][c.rng.IntN(2)], refNames["branch"][c.rng.IntN(2)]
	version := 1 + c.rng.IntN(3)
	switch c.rng.IntN(10) {
	case 0, 1:
		return c.createRef("tag", tag, version)
	case 2:
		return updateTag(tag, version)
	case 3:
		return c.deleteRef("tag", tag)
	case 4:
		return tagVersion(tag)
	case 5, 6:
		return listRefs("tag")
	case 7:
		return c.createRef("branch", branch, version)
	case 8:
		return c.deleteRef("branch", branch)
	default:
		return listRefs("branch")
	}
}

func finishRefs(c *client) {
	c.do(listRefs("tag"))
	c.do(listRefs("branch"))
	for _, name := range refNames["tag"] {
		c.do(tagVersion(name))
		c.do(c.createRef("tag", name, 2))
		c.do(updateTag(name, 3))
		c.do(tagVersion(name))
		c.do(c.deleteRef("tag", name))
	}
	for _, name := range refNames["branch"] {
		c.do(c.createRef("branch", name, 1))
		c.do(c.deleteRef("branch", name))
		c.do(c.createRef("branch", name, 2))
	}
	c.do(listRefs("tag"))
	c.do(listRefs("branch"))
}

// refCodes are the codes of what is missing and of what is there already.
var refCodes = map[string][2]int{"tag": {8, 9}, "branch": {22, 23}}

func (c *client) createRef(kind, name string, version int) *op {
	paths := map[string]string{"tag": "tags/create", "branch": "branches/create"}
	return &op{
		domain: kind + " " + name, text: fmt.Sprintf("create %s %s of version %d", kind, name, version),
		request: post(refsTable+paths[kind], map[string]any{
			map[string]string{"tag": "tag", "branch": "name"}[kind]:             name,
			map[string]string{"tag": "version", "branch": "from_version"}[kind]: version,
		}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.with(kind+" "+name, strconv.Itoa(version)), !f.has(kind + " " + name)
		}, func(f facts, o outcome) bool { return o.refusedWith(refCodes[kind][1]) && f.has(kind+" "+name) }),
		parts: c.sentAgain(kind+" "+name, strconv.Itoa(version)), late: madeAgain(kind+" "+name, strconv.Itoa(version)),
	}
}

func updateTag(name string, version int) *op {
	return &op{
		domain: "tag " + name, text: fmt.Sprintf("update tag %s to version %d", name, version),
		request: post(refsTable+"tags/update", map[string]any{"tag": name, "version": version}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.with("tag "+name, strconv.Itoa(version)), f.has("tag " + name)
		}, func(f facts, o outcome) bool { return o.refusedWith(8) && !f.has("tag "+name) }),
	}
}

// deleteRef deletes a tag or a branch. When the storage does not answer and it is gone, it is
// deleted, whoever did it: so of two who delete it at once both may be told that they did.
// "seen <operation>" is the fact that it was there while the operation ran.
func (c *client) deleteRef(kind, name string) *op {
	ref, seen := kind+" "+name, "seen "+c.by()
	request := post(refsTable+"tags/delete", map[string]any{"tag": name})
	if kind == "branch" {
		request = post(refsTable+"branches/delete", map[string]any{"name": name})
	}
	return &op{
		domain: ref, text: fmt.Sprintf("delete %s %s", kind, name), request: request,
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.without(ref).without(seen), f.has(ref) || f.has(seen)
		}, func(f facts, o outcome) bool { return o.refusedWith(refCodes[kind][0]) && !f.has(ref) }),
		parts: []func(f facts) []facts{func(f facts) []facts {
			if !f.has(ref) {
				return []facts{f}
			}
			return []facts{f, f.with(seen, "")}
		}},
	}
}

func tagVersion(name string) *op {
	return &op{
		domain: "tag " + name, text: "version of tag " + name, request: post(refsTable+"tags/version", map[string]any{"tag": name}),
		apply: reading(func(f facts, o outcome) bool {
			version, exists := f.get("tag " + name)
			if !exists {
				return o.refusedWith(8)
			}
			var told struct{ Version int }
			if o.ok() {
				o.decode(&told)
			}
			return strconv.Itoa(told.Version) == version
		}),
	}
}

// refNames are the names of all tags and branches.
var refNames = map[string][]string{"tag": {"a", "b"}, "branch": {"x", "y"}}

// listRefs lists all tags or branches. What it tells of each it reads one after the other,
// so each name is a reading of its own.
func listRefs(kind string) *op {
	path, field := "tags/list", "tags"
	if kind == "branch" {
		path, field = "branches/list", "branches"
	}
	list := &op{domain: "refs", text: "list " + field, request: post(refsTable+path, map[string]any{})}
	for _, name := range refNames[kind] {
		list.objects = append(list.objects, &op{domain: kind + " " + name, apply: reading(func(f facts, o outcome) bool {
			found, right := refsIn(o, kind, field)
			version, exists := f.get(kind + " " + name)
			got, shown := found[name]
			return right && exists == shown && version == got
		})})
	}
	return list
}

// refsIn returns the versions that a list tells, by name. It is not right if it has names that were never made.
func refsIn(o outcome, kind, field string) (found map[string]string, right bool) {
	if !o.ok() {
		return nil, false
	}
	var told map[string]map[string]struct {
		Version       int
		ParentVersion int
	}
	o.decode(&told)
	found = map[string]string{}
	for name, ref := range told[field] {
		if !slices.Contains(refNames[kind], name) {
			return nil, false
		}
		found[name] = strconv.Itoa(ref.Version + ref.ParentVersion)
	}
	return found, true
}
