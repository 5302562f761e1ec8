package refs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/objectstore"
)

// A Branch says where a branch comes from.
type Branch struct {
	Parent        *string           `json:"parentBranch"` // nil is the table itself
	Identifier    Identifier        `json:"identifier"`
	ParentVersion uint64            `json:"parentVersion"`
	Created       int64             `json:"createAt"` // seconds since 1970
	ManifestBytes int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata"`
}

// An Identifier is the way from the table itself to a branch, one fork after the
// other. A branch of older writers, which did not store it, has one fork of version 0.
type Identifier struct {
	Forks []Fork `json:"version_mapping"`
}

// A Fork is a version that a branch was made from, and an id of that branch. It is
// stored as an array of the two.
type Fork struct {
	Version uint64
	ID      string // of 32 hexadecimal digits
}

// MarshalJSON writes the array.
func (f Fork) MarshalJSON() ([]byte, error) { return json.Marshal([]any{f.Version, f.ID}) }

// UnmarshalJSON reads the array.
func (f *Fork) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("%w: a fork of %d parts, want 2", lance.ErrCorrupt, len(parts))
	}
	if err := json.Unmarshal(parts[0], &f.Version); err != nil {
		return err
	}
	return json.Unmarshal(parts[1], &f.ID)
}

// Incarnation is what a branch of this name does not share with those before and after it.
func (b Branch) Incarnation() string {
	forks := b.Identifier.Forks
	return forks[len(forks)-1].ID
}

// unknownWay returns the identifier that all readers give to a branch without one: two
// hashes of FNV-1a over what is known of it.
func (b Branch) unknownWay(name string) Identifier {
	const offset, prime, other = 0xcbf29ce484222325, 0x100000001b3, 0x9e3779b97f4a7c15
	parent := ""
	if b.Parent != nil {
		parent = *b.Parent
	}
	known := fmt.Sprintf("branch_name=%s\nparent_branch=%s\nparent_version=%d\ncreate_at=%d", name, parent, b.ParentVersion, b.Created)
	hash := func(h uint64) uint64 {
		for _, c := range []byte(known) {
			h = (h ^ uint64(c)) * prime
		}
		return h
	}
	return Identifier{Forks: []Fork{{ID: fmt.Sprintf("%016x%016x", hash(offset), hash(offset^other))}}}
}

// Branch returns what is stored of a branch, and its object, or ErrNoBranch.
func (p Place) Branch(ctx context.Context, name string) (info Branch, object objectstore.Info, err error) {
	if err := CheckBranch(name); err != nil {
		return Branch{}, object, err
	}
	object, err = p.readRef(ctx, refKey(branchesDir, name), &info)
	if errors.Is(err, ErrNoTag) {
		err = fmt.Errorf("%w: %s", ErrNoBranch, name)
	}
	if len(info.Identifier.Forks) == 0 {
		info.Identifier = info.unknownWay(name)
	}
	return info, object, err
}

// Branches returns the branches as Tags returns the tags.
func (p Place) Branches(ctx context.Context, after string, limit int) (branches map[string]Branch, next string, err error) {
	return listRefs(ctx, p, branchesDir, after, limit, p.Branch)
}

// PutBranch writes the object of a branch.
func (p Place) PutBranch(ctx context.Context, name string, info Branch, cond objectstore.Condition) error {
	return p.writeRef(ctx, refKey(branchesDir, name), info, cond)
}
