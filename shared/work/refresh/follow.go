package refresh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/view"
	"tiltyard/shared/engine/view/materialize"
	"tiltyard/shared/jobs"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

// A follower decides which views are refreshed without a request. Users without the right to read
// its source may be able to write the metadata of a view. So a view is refreshed only with the
// definition whose digest is in its record. The digest was recorded after the rights of the creator
// were checked.
type follower struct{ on tables.Tables }

// poll returns the order of the refresh that a view needs, or nil.
func (f follower) poll(ctx context.Context, id []string) (*jobs.Trigger, error) {
	if f.on.Auto.After == 0 || len(id) == 0 {
		return nil, nil
	}
	found, err := f.on.Names.Table(ctx, id)
	if err != nil || !follows(found.View) {
		return nil, unlessGone(err)
	}
	at := f.on.At(found)
	definition, err := engine.Read(ctx, at, nil, func(_ context.Context, d *dataset.Dataset) (*view.Definition, error) {
		return view.ReadFrom(d)
	})
	if err != nil {
		return nil, err
	}
	// Another writer has replaced the definition; see follower.
	if definition.Query == nil || definition.Digest() != found.View.Digest {
		return nil, nil
	}
	source, err := sourceOf(ctx, f.on, found, definition.Source)
	if isUnreadable(err) {
		order, err := f.refuse(ctx, found)
		if order == nil || err != nil {
			return nil, err
		}
		return &jobs.Trigger{Input: order, Revision: order.UID + "@refused"}, nil
	}
	if err != nil {
		return nil, err
	}
	lag, err := materialize.Behind(ctx, at, materialize.Order{Query: definition.Query, Call: reading(definition), Source: f.on.At(source)})
	if err != nil || lag == nil {
		return nil, err
	}
	due, err := f.isDue(ctx, id, found.View, lag)
	if err != nil || !due {
		return nil, err
	}
	return &jobs.Trigger{
		Input:    Order{UID: found.View.UID, Digest: found.View.Digest},
		Revision: fmt.Sprint(found.View.UID, "@", lag.Source),
	}, nil
}

// follows reports whether a view is refreshed automatically.
func follows(v *stored.View) bool { return v != nil && v.Kind == stored.Materialized && v.Auto }

// unlessGone returns an error, or nil if a table no longer exists, because there is then nothing to
// refresh.
func unlessGone(err error) error {
	if protocol.HasCode(err, protocol.TableNotFound) || protocol.HasCode(err, protocol.NamespaceNotFound) {
		return nil
	}
	return err
}

// isDue reports whether a refresh is due, and records that it begins now. Otherwise it schedules a
// poll for the due time. Of several concurrent callers one gets true.
func (f follower) isDue(ctx context.Context, id []string, v *stored.View, lag *materialize.Lag) (bool, error) {
	uid := v.UID
	h, version, err := historyOf(ctx, f.on, uid)
	if err != nil {
		return false, err
	}
	now := f.on.Now()
	due := dueAt(policyOf(f.on.Auto, v), lag, h.Began)
	wait := min(due.Sub(now), jobs.MaxDelay)
	switch {
	case wait <= 0:
		h.Began, h.Poll, h.Refused = now.UTC(), time.Time{}, false
	case now.Before(h.Poll) && !h.Poll.After(due):
		return false, nil // the pending poll will suggest the next one
	default:
		h.Poll = now.Add(wait).UTC()
	}
	if err = note(ctx, f.on, uid, version, h); errors.Is(err, record.ErrConflict) {
		return false, nil // another poll or a job was faster; later changes suggest their own polls
	}
	if wait <= 0 || err != nil {
		return err == nil, err
	}
	return false, f.on.Jobs.Suggest(ctx, Kind, id, wait)
}

// policyOf returns the rules for one view. An interval of its own replaces the times of the deployment.
func policyOf(policy tables.AutoRefresh, v *stored.View) tables.AutoRefresh {
	if v.AutoSeconds > 0 {
		policy.After, policy.Cooldown = 0, time.Duration(v.AutoSeconds*float64(time.Second))
	}
	return policy
}

// dueAt returns the time at which a view must be refreshed. began is the begin of the last
// automatic refresh.
func dueAt(policy tables.AutoRefresh, lag *materialize.Lag, began time.Time) time.Time {
	due := lag.Since.Add(policy.After)
	if lag.Rows > 0 && lag.Rows >= policy.Rows && lag.Rows >= lag.Of/100 {
		due = time.Time{}
	}
	for _, last := range []time.Time{lag.Refreshed, began} {
		if last = last.Add(policy.Cooldown); last.After(due) {
			due = last
		}
	}
	return due
}

// SuggestAll schedules a poll of each view with automatic refresh, because other programs write
// without messages, and messages get lost. Package sweep does the same in a job.
func SuggestAll(ctx context.Context, on tables.Tables) error {
	for after := ""; ; {
		_, next, err := SuggestPage(ctx, on, after)
		if after = next; err != nil || next == "" {
			return err
		}
	}
}

// SuggestPage schedules polls of the views on one page of the catalog. after is the end of the
// previous page; see [tiltyard/shared/catalog/lists.Lists.After].
func SuggestPage(ctx context.Context, on tables.Tables, after string) (polls int, next string, err error) {
	if on.Auto.After == 0 || on.Jobs == nil {
		return 0, "", nil
	}
	ids, next, err := on.Names.Lists.After(ctx, lists.Views, after)
	if err != nil {
		return 0, "", err
	}
	var following [][]string
	for _, id := range ids {
		found, err := on.Names.Table(ctx, id)
		if err := unlessGone(err); err != nil {
			return 0, "", err
		}
		if err == nil && follows(found.View) {
			following = append(following, id)
		}
	}
	return len(following), next, on.Jobs.SuggestEach(ctx, Kind, following)
}
