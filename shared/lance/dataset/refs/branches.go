package refs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
)

// A Branch is the stored record of a branch.
type Branch struct {
	Parent        *string           `json:"parentBranch"` // nil: the main table
	Identifier    Identifier        `json:"identifier"`
	ParentVersion uint64            `json:"parentVersion"`
	Created       int64             `json:"createAt"` // Unix time in seconds
	ManifestBytes int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata"`
}

// An Identifier lists the forks from the main table to a branch. Older writers did not store it;
// such a branch gets one fork of version 0.
type Identifier struct {
	Forks []Fork `json:"version_mapping"`
}

// A Fork is the version from which a branch was made and the id of that branch. It is stored as an
// array of the two.
type Fork struct {
	Version uint64
	ID      string // 32 hexadecimal digits
}

// MarshalJSON encodes the fork as an array.
func (f Fork) MarshalJSON() ([]byte, error) { return json.Marshal([]any{f.Version, f.ID}) }

// UnmarshalJSON decodes an array.
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

// Incarnation returns the id that distinguishes this branch from earlier and later ones of the same
// name.
func (b Branch) Incarnation() string {
	forks := b.Identifier.Forks
	return forks[len(forks)-1].ID
}

// unknownWay computes the identifier of a branch that has none stored, as all readers must: two
// FNV-1a hashes of its known properties.
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

// Branch returns the record of a branch and its object, or ErrNoBranch.
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

// Branches lists branches page by page. after, limit and next are as for Tags.
func (p Place) Branches(ctx context.Context, after string, limit int) (branches map[string]Branch, next string, err error) {
	return listRefs(ctx, p, branchesDir, after, limit, p.Branch)
}

// PutBranch writes the record of a branch.
func (p Place) PutBranch(ctx context.Context, name string, info Branch, cond objectstore.Condition) error {
	return p.writeRef(ctx, refKey(branchesDir, name), info, cond)
}
