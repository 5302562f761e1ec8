package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/objectstore"
)

// A BranchInfo says where a branch comes from.
type BranchInfo struct {
	Parent        *string           `json:"parentBranch"` // nil is the table itself
	Identifier    BranchIdentifier  `json:"identifier"`
	ParentVersion uint64            `json:"parentVersion"`
	Created       int64             `json:"createAt"` // seconds since 1970
	ManifestBytes int64             `json:"manifestSize"`
	Metadata      map[string]string `json:"metadata"`
}

// A BranchIdentifier is the way from the table itself to a branch, one fork after the
// other. A branch of older writers, which did not store it, has one fork of version 0.
type BranchIdentifier struct {
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

// incarnation is what a branch of this name does not share with those before and after it.
func (b BranchInfo) incarnation() string {
	forks := b.Identifier.Forks
	return forks[len(forks)-1].ID
}

// unknownWay returns the identifier that all readers give to a branch without one: two
// hashes of FNV-1a over what is known of it.
func (b BranchInfo) unknownWay(name string) BranchIdentifier {
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
	return BranchIdentifier{Forks: []Fork{{ID: fmt.Sprintf("%016x%016x", hash(offset), hash(offset^other))}}}
}

// BranchInfo returns what is stored of a branch, or ErrNoBranch.
func (t *Table) BranchInfo(ctx context.Context, name string) (BranchInfo, error) {
	info, _, err := t.branchInfo(ctx, name)
	return info, err
}

func (t *Table) branchInfo(ctx context.Context, name string) (info BranchInfo, object objectstore.Info, err error) {
	if err := CheckBranch(name); err != nil {
		return BranchInfo{}, object, err
	}
	object, err = t.readRef(ctx, refKey(branchesDir, name), &info)
	if errors.Is(err, ErrNoRef) {
		err = fmt.Errorf("%w: %s", ErrNoBranch, name)
	}
	if len(info.Identifier.Forks) == 0 {
		info.Identifier = info.unknownWay(name)
	}
	return info, object, err
}

// OpenBranch returns a branch, or ErrNoBranch: a table of its own, that shares files with
// the one it was made from. MainBranch and "" are the table itself. It is called on the
// table, not on one of its branches. A branch that is deleted later may be made again,
// other than it was, so it is opened anew for each use.
func (t *Table) OpenBranch(ctx context.Context, name string) (*Table, error) {
	if IsMain(name) {
		return t, nil
	}
	info, err := t.BranchInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	place := t.branchPlace(name, info)
	place.branch = &branchOf{table: t, name: name, incarnation: info.incarnation()}
	return place, nil
}

// A branchOf is what a branch was opened as.
type branchOf struct {
	table             *Table
	name, incarnation string
}

// confirm returns ErrNoBranch when the branch has been deleted, though there may be
// another one of its name. Nobody may commit at its place then.
func (b *branchOf) confirm(ctx context.Context) error {
	info, err := b.table.BranchInfo(ctx, b.name)
	if err == nil && info.incarnation() != b.incarnation {
		err = fmt.Errorf("%w: %s, as it was before it was deleted", ErrNoBranch, b.name)
	}
	return err
}

// Branches returns the branches as Tags returns the tags.
func (t *Table) Branches(ctx context.Context, after string, limit int) (branches map[string]BranchInfo, next string, err error) {
	return listRefs(ctx, t, branchesDir, after, limit, t.branchInfo)
}
