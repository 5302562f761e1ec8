package simulation_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
)

// versions are those of two tables, made as clients that keep their manifests themselves do:
// by staging one and asking for it to become a version, or several of them together. The
// facts are "<table>", the ETags of its manifests in the order of the versions.
var versions = domain{name: "versions", setup: setupVersions, draw: drawVersions, finale: finishVersions}

// versionTables are three: one has managed versions from the start, one since a batch named
// it, and one has none until a batch names it. To that one, such a batch may have given way:
// see shared/catalog.
var versionTables = []string{"managed", "switched", "plain"}

func setupVersions(c *client) {
	c.do(&op{
		domain: "versions", text: "declare table managed", request: post("/v1/table/managed/declare", map[string]any{
			"properties": map[string]string{"managed_versioning": "true"},
		}),
		apply: reading(func(_ facts, o outcome) bool { return o.ok() }),
	})
	for _, name := range versionTables {
		c.do(&op{
			domain: "versions", text: "create table " + name,
			request: request{path: "/v1/table/" + name + "/create", body: stream(map[int]int{0: 0})},
			apply: func(f facts, _ outcome) []facts {
				return []facts{f.with(name, c.stagedAs(name, 1))}
			},
		})
	}
	c.do(c.createBatch("managed", "switched"))
}

func drawVersions(c *client) *op {
	name := versionTables[c.rng.IntN(3)]
	switch c.rng.IntN(8) {
	case 0, 1:
		return c.createVersion(name)
	case 2, 3:
		return c.createBatch("managed", "switched")
	case 4:
		return c.createBatch(name, []string{"plain", "managed", "switched"}[slices.Index(versionTables, name)])
	case 5:
		return c.describeVersion(name, 1+c.rng.IntN(4))
	default:
		return c.newestVersion(name)
	}
}

func finishVersions(c *client) {
	for range 2 {
		for _, name := range versionTables {
			c.do(c.newestVersion(name))
		}
		c.do(c.createBatch("managed", "switched"))
		for _, name := range versionTables {
			c.do(c.newestVersion(name))
			c.do(c.createVersion(name))
			c.do(c.newestVersion(name))
		}
		c.do(c.createBatch("plain", "managed"))
		for _, name := range versionTables {
			c.do(c.newestVersion(name))
		}
		c.haveSettled()
	}
}

// seen is what a client has learnt of a table: where it is and its newest version.
type seen struct {
	place  string
	newest int
}

func (c *client) seen(name string) *seen {
	s, ok := c.memory[name].(*seen)
	if !ok {
		s = &seen{newest: 1}
		c.memory[name] = s
	}
	if s.place == "" {
		s.place = c.placeOf(name)
	}
	return s
}

// placeOf finds a table in the bucket, as everybody may.
func (c *client) placeOf(name string) string {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	i, _ := slices.BinarySearch(c.world.bucket.keys, name+"-")
	place, _, _ := strings.Cut(c.world.bucket.keys[i], "/")
	return place
}

// stagedAs is the ETag of a version at its usual name.
func (c *client) stagedAs(name string, version uint64) string {
	key := manifest.Key(c.seen(name).place, version, manifest.V2)
	return strings.Trim(etagOf(c.world.bucket.objects[key].data), `"`)
}

// stage puts a manifest into the bucket that may become a version, and returns the entry of
// a request and the ETag.
func (c *client) stage(name string, version int) (entry map[string]any, etag string) {
	place := c.seen(name).place
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	first, err := manifest.Parse(c.world.bucket.objects[manifest.Key(place, 1, manifest.V2)].data)
	if err != nil {
		panic(err)
	}
	uuid := fmt.Sprintf("00000000-0000-4000-8000-%04d%08d", c.number, c.sent)
	next := first.Next()
	next.Version = uint64(version)
	next.TransactionFile = manifest.TransactionName(uint64(version-1), uuid)
	file, err := next.Encode(&pb.Transaction{ReadVersion: uint64(version - 1), UUID: uuid, Operation: &pb.Append{}})
	if err != nil {
		panic(err)
	}
	key := manifest.Key(place, uint64(version), manifest.V2) + "-" + uuid
	c.world.bucket.put(key, file, c.world.clock)
	return map[string]any{
		"id": []string{name}, "version": version, "manifest_path": key, "manifest_size": len(file), "naming_scheme": "V2",
	}, strings.Trim(etagOf(file), `"`)
}

// append makes a version the newest of its table, if it comes next.
func (f facts) append(name string, version int, etag string) (facts, bool) {
	text, _ := f.get(name)
	made := strings.Fields(text)
	if len(made)+1 != version {
		return f, false
	}
	return f.with(name, strings.Join(append(made, etag), " ")), true
}

func (c *client) createVersion(name string) *op {
	s := c.seen(name)
	version := s.newest + 1
	entry, etag := c.stage(name, version)
	delete(entry, "id")
	return &op{
		domain: "versions", text: fmt.Sprintf("create version %d of %s: %.6s", version, name, etag),
		request: post("/v1/table/"+name+"/version/create", entry),
		apply: usual(func(f facts, _ outcome) (facts, bool) { return f.append(name, version, etag) },
			func(facts, outcome) bool { return false }),
	}
}

func (c *client) createBatch(names ...string) *op {
	var entries []map[string]any
	made, numbers := make([]string, len(names)), make([]int, len(names))
	for i, name := range names {
		numbers[i] = c.seen(name).newest + 1
		entry, etag := c.stage(name, numbers[i])
		entries, made[i] = append(entries, entry), etag
	}
	all := func(f facts, _ outcome) (facts, bool) {
		before := f
		for i, name := range names {
			var ok bool
			if f, ok = f.append(name, numbers[i], made[i]); !ok {
				return before, false
			}
		}
		return f, true
	}
	whole := usual(all, func(facts, outcome) bool { return false })
	return &op{
		domain: "versions", text: fmt.Sprintf("create versions %v of %v: %.6s", numbers, names, made),
		request: post("/v1/table/version/batch-create", map[string]any{"entries": entries}),
		apply: func(f facts, o outcome) []facts {
			var next []facts
			if !gaveWay(o) {
				next = whole(f, o)
			}
			if i := slices.Index(names, "plain"); i >= 0 && (o.unknown || gaveWay(o)) && f.newest("plain") >= numbers[i] {
				other := 1 - i
				if half, ok := f.append(names[other], numbers[other], made[other]); ok {
					next = append(next, half)
				}
			}
			return next
		},
	}
}

// gaveWay reports whether a batch was done but for what somebody else was quicker with.
func gaveWay(o outcome) bool {
	return o.lostRace() && bytes.Contains(o.body, []byte("the rest of the batch was done"))
}

// newest is the number of the newest version of a table.
func (f facts) newest(name string) int {
	text, _ := f.get(name)
	return len(strings.Fields(text))
}

type toldVersion struct {
	Version int
	ETag    string `json:"e_tag"`
}

func (v toldVersion) is(made []string) bool {
	return v.Version <= len(made) && strings.Trim(v.ETag, `"`) == made[v.Version-1]
}

// newestVersion asks for the newest version of a table, and remembers it.
func (c *client) newestVersion(name string) *op {
	return &op{
		domain: "versions", text: "newest version of " + name,
		request: post("/v1/table/"+name+"/version/list?limit=1&descending=true", map[string]any{}),
		learn: func(o outcome) {
			if v := listed(o); len(v) == 1 {
				c.seen(name).newest = v[0].Version
			}
		},
		apply: reading(func(f facts, o outcome) bool {
			text, _ := f.get(name)
			made, v := strings.Fields(text), listed(o)
			return o.ok() && len(v) == 1 && v[0].Version == len(made) && v[0].is(made)
		}),
	}
}

func listed(o outcome) []toldVersion {
	var told struct{ Versions []toldVersion }
	if o.ok() {
		o.decode(&told)
	}
	return told.Versions
}

func (c *client) describeVersion(name string, version int) *op {
	return &op{
		domain: "versions", text: "describe version " + strconv.Itoa(version) + " of " + name,
		request: post("/v1/table/"+name+"/version/describe", map[string]any{"version": version}),
		apply: reading(func(f facts, o outcome) bool {
			text, _ := f.get(name)
			made := strings.Fields(text)
			if version > len(made) {
				return o.refusedWith(11)
			}
			var told struct{ Version toldVersion }
			if o.ok() {
				o.decode(&told)
			}
			return told.Version.Version == version && told.Version.is(made)
		}),
	}
}
