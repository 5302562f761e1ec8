package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"tiltyard/shared/lance"
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
// other. Of a branch of older writers it is empty.
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

// BranchInfo returns what is stored of a branch, or ErrNoRef.
func (t *Table) BranchInfo(ctx context.Context, name string) (BranchInfo, error) {
	if err := CheckBranch(name); err != nil {
		return BranchInfo{}, err
	}
	var info BranchInfo
	_, err := t.readRef(ctx, refKey(branchesDir, name), &info)
	return info, err
}

// Branches returns the branches as Tags returns the tags. Their order is that of their
// names with slashes escaped.
func (t *Table) Branches(ctx context.Context, after string, limit int) (branches map[string]BranchInfo, more bool, err error) {
	branches = map[string]BranchInfo{}
	var mu sync.Mutex
	more, err = t.listRefs(ctx, branchesDir, after, limit, func(ctx context.Context, name string) error {
		info, err := t.BranchInfo(ctx, name)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			branches[name] = info
		}
		return err
	})
	return branches, more, err
}
