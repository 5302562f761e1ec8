package rangecache

import (
	"context"

	"tiltyard/shared/storage/objectstore"
)

// A reading is one call of GetRanges.
type reading struct {
	store  *store
	key    string
	ranges []objectstore.Range
	names  []digest

	parts [][]byte         // those that were found; nil: not yet
	info  objectstore.Info // of the object of the parts
	mixed bool             // the parts are from different objects
	found int
}

func newReading(s *store, key string, ranges []objectstore.Range) *reading {
	r := &reading{store: s, key: key, ranges: ranges, names: make([]digest, len(ranges)), parts: make([][]byte, len(ranges))}
	for i := range ranges {
		r.names[i] = nameOf(s.place, key, ranges[i])
	}
	return r
}

// lookUp looks for the ranges in the folder, and then for the rest in the bucket.
func (r *reading) lookUp(ctx context.Context) {
	c := r.store.cache
	if c.disk != nil {
		for i, name := range r.names {
			if !mayFit(r.ranges[i]) {
				continue
			}
			blob := c.disk.get(name, mostBytes(r.ranges[i]))
			if blob == nil {
				continue
			}
			if e, ok := decode(blob, name, r.ranges[i], c.now()); ok {
				r.add(i, e)
			} else {
				c.disk.drop(name)
			}
		}
	}
	c.usage.disk.Add(int64(r.found))
	if missing := r.missing(); c.bucket != nil && len(missing) > 0 {
		r.lookInBucket(ctx, missing)
	}
	objectstore.CountKept(ctx, r.found)
}

// lookInBucket looks for ranges in the bucket. It keeps those in the folder that it finds.
func (r *reading) lookInBucket(ctx context.Context, missing []int) {
	c := r.store.cache
	var wanted []want
	for _, i := range missing {
		if mayFit(r.ranges[i]) {
			wanted = append(wanted, want{i, r.names[i], r.ranges[i]})
		}
	}
	before := r.found
	for n, blob := range c.bucket.get(ctx, wanted) {
		w := wanted[n]
		if blob == nil {
			continue
		}
		if e, ok := decode(blob, w.name, w.of, c.now()); ok {
			r.add(w.index, e)
			c.keeper.keep(w.name, e, false)
		}
	}
	c.usage.bucket.Add(int64(r.found - before))
}

// add takes an entry as the bytes of a range.
func (r *reading) add(i int, e entry) {
	if r.found > 0 && !sameObject(r.info, e.info) {
		r.mixed = true
	}
	r.parts[i], r.info = e.data, e.info
	r.found++
}

// missing returns the indices of the ranges that were not found.
func (r *reading) missing() []int {
	var missing []int
	for i, part := range r.parts {
		if part == nil {
			missing = append(missing, i)
		}
	}
	return missing
}

// finish reads what was not found from the store. Parts of different objects are read again.
func (r *reading) finish(ctx context.Context) ([][]byte, objectstore.Info, error) {
	missing := r.missing()
	if len(missing) > 0 && !r.mixed {
		if err := r.read(ctx, missing); err != nil {
			return nil, objectstore.Info{}, err
		}
	}
	if r.mixed {
		all := make([]int, len(r.ranges))
		for i := range all {
			all[i] = i
		}
		r.found = 0
		if err := r.read(ctx, all); err != nil {
			return nil, objectstore.Info{}, err
		}
	}
	r.info.Key = r.key
	return r.parts, r.info, nil
}

// read reads ranges from the store, and keeps them.
func (r *reading) read(ctx context.Context, indices []int) error {
	ranges := make([]objectstore.Range, len(indices))
	for n, i := range indices {
		ranges[n] = r.ranges[i]
	}
	got, info, err := r.store.Store.GetRanges(ctx, r.key, ranges...)
	if err != nil {
		return err
	}
	c := r.store.cache
	c.usage.store.Add(int64(len(indices)))
	r.mixed = r.found > 0 && !sameObject(r.info, info)
	r.info = info
	for n, i := range indices {
		r.parts[i] = got[n]
		c.keeper.keep(r.names[i], entry{info: info, kept: c.now(), data: got[n]}, true)
	}
	return nil
}

// sameObject reports whether two entries are from the same content of an object.
func sameObject(a, b objectstore.Info) bool { return a.ETag == b.ETag && a.Size == b.Size }

// mayFit reports whether the bytes of a range can be in an entry. The end of an object may be shorter than asked.
func mayFit(r objectstore.Range) bool { return r.Offset < 0 || r.Length <= maxEntry }

// mostBytes bounds the bytes of a range in an entry.
func mostBytes(r objectstore.Range) int64 {
	switch {
	case r.Offset >= 0:
		return r.Length
	case r.Offset < -maxEntry:
		return maxEntry
	}
	return -r.Offset
}
