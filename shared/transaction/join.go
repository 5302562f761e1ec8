package transaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/record"
)

// joinFolder and asideFolder are those of records that are no transactions.
const (
	joinFolder  = "join/"
	asideFolder = "aside/"
)

// An arrival is what the first of two neighbours leaves where their ways meet.
type arrival struct {
	From  int   `json:"from"` // which of the two it was
	Parts int   `json:"parts"`
	Rows  int64 `json:"rows,omitempty"`
}

// Arrive is told that a part has ended, and says whether it was the last of its stage. It may
// be told again of the same part: then it says the same, so that a worker that dies in between
// is no harm.
//
// Parts that end together do not write to one record. They go up a tree of pairs:
//
//	level 2           0
//	               /     \
//	level 1       0       1
//	            /  \    /  \
//	level 0    1    2  3    4     parts
//
// Who comes first to where two ways meet leaves a record there, put if absent, and is done. Who
// comes second finds it and goes on. So one part comes to the top, after all others have ended,
// and all together make two requests or so for each part, however they meet.
//
// Where no more than 32 groups are left, the job's record is told of each, for who asks how far
// it has come.
func (s *Store) Arrive(ctx context.Context, p Share, parts int, rows int64) (last bool, err error) {
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
		if all.From^1 < width { // else it has no neighbour
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

// maxGroups is how often a stage tells the job's record how far it has come.
const maxGroups = 32

// meet leaves an arrival, and returns the one that was there first.
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
	return first, json.Unmarshal(there.Value, &first)
}

// count tells the job's record of a group of parts that have ended. It does not matter much if
// it cannot: all parts are counted when the stage ends.
func (s *Store) count(ctx context.Context, p Share, group arrival) {
	_, _ = s.Advance(ctx, p.Job, func(t *Transaction) {
		bit := uint32(1) << group.From
		if t.Work == nil || t.Work.Stage != p.Stage || t.Work.Groups&bit != 0 {
			return
		}
		t.Work.Groups |= bit
		t.Work.PartsDone += group.Parts
		t.Rows += group.Rows
	})
}

// A note is what is known of a job that was given up.
type note struct {
	Job  string `json:"job"`
	Mark string `json:"mark"`
}

func asideKey(kind string, object []string) string {
	return asideFolder + nameOf(kind, object)
}

// nameOf is the name of a record about jobs of a kind for an object.
func nameOf(kind string, object []string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + strings.Join(object, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// SetAside notes that a job was given up that a worker had begun by itself, so that no other is
// begun for the same: for the object as long as it has that mark, such as the version of a
// table. See [Store.IsAside].
func (s *Store) SetAside(ctx context.Context, job *Transaction) error {
	key := asideKey(job.Kind, job.Object)
	value, err := json.Marshal(note{job.ID, job.Work.Mark})
	if err != nil {
		return err
	}
	there, err := s.records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) || err == nil && string(there.Value) == string(value) {
		return err
	}
	_, err = s.records.Put(ctx, record.Record{Key: key, Value: value, Version: there.Version})
	return err
}

// IsAside says whether a job of that kind for the object, while it had that mark, was given up,
// and was not resumed since.
func (s *Store) IsAside(ctx context.Context, kind string, object []string, mark string) (bool, error) {
	there, err := s.records.Get(ctx, asideKey(kind, object))
	if errors.Is(err, record.ErrNotExist) {
		return false, nil
	}
	var noted note
	if err == nil {
		err = json.Unmarshal(there.Value, &noted)
	}
	if err != nil || noted.Mark != mark {
		return false, err
	}
	job, err := s.getIfAny(ctx, jobFolder+noted.Job)
	return err == nil && (job == nil || job.Work.Aside), err
}
