package changefeed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/protocol/eventapi"
)

// Commits to the branches of a table are recorded in the mark of the table, so that they are in one order with its renames
// and drops. A branch may be deleted and replaced by another of the same name. The mark therefore identifies a branch by a
// hash of its stored metadata, so that versions of the old branch are not confused with versions of the new one.

// A Branch describes a branch of a table at its creation.
type Branch struct {
	Name        string
	Incarnation string    // differs for each branch that ever had the name; of any length
	First       uint64    // its first version
	Made        time.Time // in whole seconds of the creator's clock
}

// ErrNoBranch means that the branch was deleted. Another branch may have its name.
var ErrNoBranch = errors.New("the branch is deleted")

// key identifies the branch in the mark of the table. It has a fixed length.
func (b Branch) key() string {
	sum := sha256.Sum256([]byte(b.Incarnation))
	return hex.EncodeToString(sum[:16])
}

// A branchMark records the last announced version of a branch.
type branchMark struct {
	Version uint64 `json:"version"`
	Gone    int64  `json:"gone,omitempty"` // when the branch was first missing, in seconds since 1970
}

const (
	// maxBranches bounds the branches in a mark, which must fit into a record together with a batch.
	maxBranches = 1000
	// forgetBranch is how long the mark of a deleted branch is kept. A deletion first removes the name of a branch, and
	// restores it if another branch has come to depend on it meanwhile.
	forgetBranch = time.Hour
)

// addBranches adds the unannounced commits to all branches, or to the one with the given name. more reports that some did
// not fit. unread joins the errors of branches that could not be read.
func (a *Announcer) addBranches(ctx context.Context, found *catalog.Table, d *draft, name string) (more bool, unread, err error) {
	branches, err := a.history.Branches(ctx, found, name)
	if err != nil {
		return false, fmt.Errorf("list the branches: %w", err), nil
	}
	if d.mark.Branches == nil {
		d.mark.Branches = map[string]branchMark{}
	}
	if name == "" {
		d.missBranches(branches, a.Outbox.Now())
	}
	for _, b := range branches {
		// A branch that cannot be read must leave no events in the draft.
		before := *d
		full, err := a.addBranch(ctx, found, d, b)
		switch {
		case ctx.Err() != nil:
			return false, nil, ctx.Err()
		case err == nil && full:
			return true, unread, nil
		case err == nil:
			continue
		case !errors.Is(err, ErrNoBranch):
			unread = errors.Join(unread, fmt.Errorf("branch %s: %w", b.Name, err))
		}
		*d = before
	}
	return false, unread, nil
}

// missBranches marks branches that no longer exist, and removes their marks after forgetBranch.
func (d *draft) missBranches(there []Branch, now time.Time) {
	stands := make(map[string]bool, len(there))
	for _, b := range there {
		stands[b.key()] = true
	}
	for key, m := range d.mark.Branches {
		switch {
		case stands[key]:
		case m.Gone == 0:
			m.Gone = now.Unix()
			d.mark.Branches[key] = m
		case now.Sub(time.Unix(m.Gone, 0)) > forgetBranch:
			delete(d.mark.Branches, key)
		}
	}
}

// addBranch adds the unannounced commits to a branch, and reports whether the draft is full.
func (a *Announcer) addBranch(ctx context.Context, found *catalog.Table, d *draft, b Branch) (full bool, err error) {
	m, known := d.mark.Branches[b.key()]
	if !known {
		if len(d.mark.Branches) >= maxBranches {
			return false, fmt.Errorf("%d other branches are announced, and no more at a time", maxBranches)
		}
		if m.Version, err = a.versionBefore(ctx, found, b); err != nil {
			return false, err
		}
	}
	m.Gone = 0
	err = a.history.Commits(ctx, found, &b, m.Version, func(at time.Time, data eventapi.Data) bool {
		if full {
			// The draft was full with the previous commit, so the mark stays before this one.
			return false
		}
		data.Branch = b.Name
		m.Version = uint64(data.Version)
		full = !d.add(eventapi.BranchCommitted, fmt.Sprintf("branch/%s/version/%d", b.key(), data.Version), at, data)
		return true
	})
	if err == nil {
		d.mark.Branches[b.key()] = m
	}
	return full, err
}

// versionBefore returns the last version of a branch that is older than the log, and so not announced. The first version
// of a branch has the number of the version from which it was made.
func (a *Announcer) versionBefore(ctx context.Context, found *catalog.Table, b Branch) (uint64, error) {
	before := max(b.First, 1) - 1
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil || b.Made.After(since) {
		return before, err
	}
	then, err := a.history.VersionAt(ctx, found, &b, since)
	return max(before, then), err
}

// BeforeDeleted announces the commits to a branch that is about to be deleted. It skips unreadable ones, because it must
// be possible to delete a damaged branch. An error means that the log cannot be written.
func (a *Announcer) BeforeDeleted(ctx context.Context, id []string, branch string) error {
	if a == nil {
		return nil
	}
	err := a.Branch(ctx, id, branch)
	if err != nil && ctx.Err() == nil {
		err = a.announceTable(ctx, id, lines{})
	}
	if err != nil {
		return fmt.Errorf("announce changes: %w", err)
	}
	return nil
}
