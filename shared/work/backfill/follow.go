package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/fill"
	"tiltyard/shared/jobs"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

// A follower decides which columns are filled without a request. The metadata of a table names
// their functions, and users without the right to a function may be able to write it. So jobs call
// only functions listed in the table's record. An entry is added there after the rights of the
// principal that declared the column were checked.
type follower struct{ on tables.Tables }

// Following adds polls to a kind that [Fill] made: they find columns that are filled without a
// request.
func Following(on tables.Tables, kind jobs.Kind) jobs.Kind {
	kind.Poll = follower{on}.poll
	return kind
}

// Allowance returns the entry in a table's record that permits jobs to fill a column: one entry for
// all expressions, and one for each use of a function. use is nil for an expression.
func Allowance(use *schemaapi.FunctionBinding) (string, error) {
	if use == nil {
		return "expressions", nil
	}
	function, err := json.Marshal(use.Function)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(use.ID+"\x00"), function...))
	return hex.EncodeToString(sum[:16]), nil
}

// soon is the delay before a poll of the other columns of a table.
const soon = 5 * time.Second

// poll returns the order for one column that needs filling, or nil. A further poll takes the next
// column.
func (f follower) poll(ctx context.Context, id []string) (*jobs.Trigger, error) {
	if f.on.Auto.After == 0 || len(id) == 0 {
		return nil, nil
	}
	found, err := f.on.Names.Table(ctx, id)
	if protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound) {
		return nil, nil
	}
	if err != nil || len(found.Fills) == 0 {
		return nil, err
	}
	columns, err := fill.AllBehind(ctx, f.on.At(found))
	if err != nil {
		if engine.IsDeclared(err) {
			return nil, nil
		}
		return nil, err
	}
	var trigger *jobs.Trigger
	again := time.Duration(-1) // until the next poll
	for _, c := range columns {
		allowance, err := Allowance(c.Use)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(found.Fills, allowance) {
			continue
		}
		if trigger != nil {
			again = soon
			break
		}
		if c.Use != nil {
			err := f.mayUse(ctx, found, c)
			if errors.Is(err, errUnusable) {
				if trigger, err = f.refuse(ctx, found.Location.URI, c); err != nil {
					return nil, err
				}
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		due, wait, err := f.isDue(ctx, keyOf(found.Location.URI, c), c)
		switch {
		case err != nil:
			return nil, err
		case due:
			trigger = triggerOf(found.Location.URI, c)
		case wait > 0 && (again < 0 || wait < again):
			again = wait
		}
	}
	if again >= 0 {
		err = f.on.Jobs.Suggest(ctx, Kind, id, again)
	}
	return trigger, err
}

// triggerOf returns the order to fill a column. Its mark changes with each version of the table.
func triggerOf(place string, c fill.Behind) *jobs.Trigger {
	order := Order{Column: c.Column}
	if c.Use != nil {
		order.Function, order.Use = &c.Use.Function, c.Use.ID
	}
	return &jobs.Trigger{Input: order, Revision: fmt.Sprint(place, "@", c.Version, " ", c.Column)}
}

// A history records the polls of a column.
type history struct {
	Behind time.Time `json:"behind,omitzero"` // when a poll first found missing values
	Began  time.Time `json:"began,omitzero"`  // when a poll last began a fill
	Poll   time.Time `json:"look,omitzero"`   // when the pending poll is due
	// Refused is set when a job has reported, since the last fill, that the function may not be used.
	Refused bool `json:"refused,omitempty"`
}

// keptFor is the time after which the unread history of a column expires.
const keptFor = 90 * 24 * time.Hour

// keyOf returns the key of the history of a column of the table at a place.
func keyOf(place string, c fill.Behind) string {
	what := []string{place, "column", c.Column}
	if c.Use != nil {
		what = []string{place, "use", c.Use.ID}
	}
	sum := sha256.Sum256([]byte(strings.Join(what, "\x00")))
	return "fill/" + hex.EncodeToString(sum[:16])
}

// refuse returns a job for a column that can no longer be filled. The job fails and so shows the reason to users of the
// table. refuse returns nil if there was such a job since the last fill.
func (f follower) refuse(ctx context.Context, place string, c fill.Behind) (*jobs.Trigger, error) {
	key := keyOf(place, c)
	h, version, err := f.historyOf(ctx, key)
	if err != nil || h.Refused {
		return nil, err
	}
	h.Refused = true
	if noted, err := f.note(ctx, key, version, h); !noted || err != nil {
		return nil, err
	}
	trigger := triggerOf(place, c)
	trigger.Revision = key + "@refused"
	return trigger, nil
}

// historyOf returns a history and its record version. The history is zero if there is no record.
func (f follower) historyOf(ctx context.Context, key string) (h history, version string, err error) {
	last, err := f.on.Records.Get(ctx, key)
	if errors.Is(err, record.ErrNotExist) {
		return h, "", nil
	}
	if err == nil {
		err = last.Decode(&h)
	}
	if err != nil {
		return h, "", fmt.Errorf("history %s of the fills of a column: %w", key, err)
	}
	return h, last.Version, nil
}

// note writes a history if its record still has the version. It returns false if another poll was
// faster.
func (f follower) note(ctx context.Context, key, version string, h history) (bool, error) {
	value, err := json.Marshal(h)
	if err != nil {
		return false, err
	}
	_, err = f.on.Records.Put(ctx, record.Record{Key: key, Value: value, Version: version, Expires: f.on.Now().UTC().Add(keptFor)})
	if errors.Is(err, record.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// isDue reports whether a fill is due, and records that it begins now. Otherwise it returns the time until the next poll,
// or 0 for none. Of several concurrent callers one gets true.
func (f follower) isDue(ctx context.Context, key string, c fill.Behind) (bool, time.Duration, error) {
	h, version, err := f.historyOf(ctx, key)
	if err != nil {
		return false, 0, err
	}
	now := f.on.Now().UTC()
	if h.Behind.IsZero() {
		h.Behind = now
	}
	due := dueAt(f.on.Auto, c, h)
	wait := min(due.Sub(now), jobs.MaxDelay)
	switch {
	case wait <= 0:
		h = history{Began: now}
	case now.Before(h.Poll) && !h.Poll.After(due):
		return false, 0, nil // the pending poll will suggest the next one
	default:
		h.Poll = now.Add(wait)
	}
	noted, err := f.note(ctx, key, version, h)
	if !noted || err != nil {
		return false, 0, err
	}
	return wait <= 0, max(wait, 0), nil
}

// dueAt returns the time at which the column must be filled.
func dueAt(policy tables.AutoRefresh, c fill.Behind, h history) time.Time {
	if c.Interval > 0 {
		return h.Began.Add(c.Interval)
	}
	due := h.Behind.Add(policy.After)
	if c.Rows >= policy.Rows && c.Rows >= c.Of/100 {
		due = time.Time{}
	}
	if next := h.Began.Add(policy.Cooldown); next.After(due) {
		due = next
	}
	return due
}
