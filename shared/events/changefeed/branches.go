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

// The commits to the branches of a table are announced with the mark of the table, so that they are in one order with its
// renames and drops. A branch may be deleted and replaced by another of the same name. The mark therefore identifies a
// branch by its stored metadata, so that versions of the former branch are not confused with those of the new one.

// A Branch is a branch of a table as it was made.
type Branch struct {
	Name        string
	Incarnation string    // differs from that of former and later branches of the name; of any length
	First       uint64    // its first version
	Made        time.Time // by the clock of its maker, in whole seconds
}

// ErrNoBranch means that the branch was deleted. Another one may have its name.
var ErrNoBranch = errors.New("the branch is deleted")

// key returns the key of the branch in the mark of the table, which has a fixed length.
func (b Branch) key() string {
	sum := sha256.Sum256([]byte(b.Incarnation))
	return hex.EncodeToString(sum[:16])
}

// A branchMark is how far the commits to a branch are announced.
type branchMark struct {
	Version uint64 `json:"version"`
	Gone    int64  `json:"gone,omitempty"` // when the branch was first missed, in seconds since 1970
}

const (
	// maxBranches bounds the branches in a mark, which has to fit into a record beside a batch.
	maxBranches = 1000
	// forgetBranch is how long the mark of a deleted branch is kept. A deletion first removes the name of a branch, and
	// restores it if another branch has come to depend on it meanwhile.
	forgetBranch = time.Hour
)

// addBranches adds the commits to branches that are not announced: to all, or only to the one of a name. more means
// that some did not fit, and unread is why branches could not be read.
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

// missBranches marks branches that no longer exist, and forgets them after forgetBranch.
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

// addBranch adds the commits to a branch that are not announced, and reports whether there is no room for more.
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

// versionBefore returns the last version of a branch that is not announced because it is older than the log. A branch
// begins with the number of the version that it was made from.
func (a *Announcer) versionBefore(ctx context.Context, found *catalog.Table, b Branch) (uint64, error) {
	before := max(b.First, 1) - 1
	since, err := a.Outbox.Log.Since(ctx)
	if err != nil || b.Made.After(since) {
		return before, err
	}
	then, err := a.history.VersionAt(ctx, found, &b, since)
	return max(before, then), err
}

// BeforeDeleted announces the commits to a branch that is about to be deleted, as far as they can be read: it must be
// possible to delete a damaged branch. The error means that the log cannot be written.
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
