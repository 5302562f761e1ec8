package transaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/storage/record"
)

// joinFolder and setAsideFolder contain records that are not transactions.
const (
	joinFolder     = "join/"
	setAsideFolder = "aside/"
)

// An arrival is the record that the first of two sibling nodes leaves at their parent.
type arrival struct {
	From  int   `json:"from"` // number of the sibling that left it
	Parts int   `json:"parts"`
	Rows  int64 `json:"rows,omitempty"`
}

// Arrive records that a part has ended, and reports whether it was the last of its stage. A
// repeated call for the same part returns the same result, so a worker may die after a call.
//
// The parts do not all write to one record. They climb a binary tree:
//
//	level 2           0
//	               /     \
//	level 1       0       1
//	            /  \    /  \
//	level 0    1    2  3    4     parts
//
// The first part that reaches a node creates a record there (put-if-absent) and stops. The second
// part finds the record and climbs on. So exactly one part reaches the top, after all others have
// ended. All parts together need about two requests per part, in any order.
//
// At the first level with at most 32 nodes, each part that arrives also adds its subtree to the
// count in the job's record, which shows users the progress of the stage.
func (s *Store) Arrive(ctx context.Context, p Unit, parts int, rows int64) (last bool, err error) {
	all := arrival{From: p.Part - 1, Parts: 1, Rows: rows}
	counted := false
	for level, width := 0, parts; ; level++ {
		if !counted && width <= maxGroups {
			counted = true
			s.count(ctx, p, all)
		}
		if width == 1 {
			return true, nil
		}
		if all.From^1 < width { // else the node has no sibling
			first, err := s.meet(ctx, fmt.Sprintf("%s%s/%s/%d-%d", joinFolder, p.Job, p.Stage, level+1, all.From/2), all)
			if err != nil || first.From == all.From {
				return false, err
			}
			all.Parts, all.Rows = all.Parts+first.Parts, all.Rows+first.Rows
		}
		all.From /= 2
		width = (width + 1) / 2
	}
}

// maxGroups bounds the updates of the count in the job's record per stage.
const maxGroups = 32

// meet leaves an arrival at a node. It returns the arrival that was first there, which may be mine.
func (s *Store) meet(ctx context.Context, key string, mine arrival) (first arrival, err error) {
	value, err := json.Marshal(mine)
	if err != nil {
		return mine, err
	}
	_, err = s.records.Put(ctx, record.Record{Key: key, Value: value, Expires: s.now().Add(Retention)})
	if !errors.Is(err, record.ErrConflict) {
		return mine, err
	}
	there, err := s.records.Get(ctx, key)
	if err != nil {
		return mine, err
	}
	return first, there.Decode(&first)
}

// count adds a completed group of parts to the job's record. Errors are ignored, because the end of
// the stage counts all parts again.
func (s *Store) count(ctx context.Context, p Unit, group arrival) {
	_, _ = s.Advance(ctx, p.Whole(), func(t *Transaction) {
		bit := uint32(1) << group.From
		if t.Work == nil || t.Work.Stage != p.Stage || t.Work.Groups&bit != 0 {
			return
		}
		t.Work.Groups |= bit
		t.Work.PartsDone += group.Parts
		t.Rows += group.Rows
	})
}

// A note records that a job was set aside.
type note struct {
	Job      string `json:"job"`
	Revision string `json:"mark"`
}

func setAsideKey(kind string, object []string) string {
	return setAsideFolder + nameOf(kind, object)
}

// nameOf hashes a kind and an object to the name of a record.
func nameOf(kind string, object []string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Join(object, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// SetAside notes that a job was set aside that a worker had begun after a poll. No worker begins
// such a job again while the object has the same revision, such as the version of a table. See
// [Store.IsSetAside].
func (s *Store) SetAside(ctx context.Context, job *Transaction) error {
	key := setAsideKey(job.Kind, job.Object)
	value, err := json.Marshal(note{job.ID, job.Work.Revision})
	if err != nil {
		return err
	}
	there, err := s.records.Get(ctx, key)
	// An equal note needs no write.
	if err != nil && !errors.Is(err, record.ErrNotExist) || err == nil && string(there.Value) == string(value) {
		return err
	}
	if err == nil {
		if err := there.Decode(new(note)); err != nil {
			return err
		}
	}
	_, err = s.records.Put(ctx, record.Record{Key: key, Value: value, Version: there.Version})
	return err
}

// IsSetAside reports whether a job of the kind for the object, with the revision, was set aside and not
// resumed since.
func (s *Store) IsSetAside(ctx context.Context, kind string, object []string, revision string) (bool, error) {
	there, err := s.records.Get(ctx, setAsideKey(kind, object))
	if errors.Is(err, record.ErrNotExist) {
		return false, nil
	}
	var noted note
	if err == nil {
		err = there.Decode(&noted)
	}
	if err != nil || noted.Revision != revision {
		return false, err
	}
	job, err := s.getIfAny(ctx, Ref{Unit: Unit{Job: noted.Job}})
	return err == nil && (job == nil || job.Work.SetAside), err
}
