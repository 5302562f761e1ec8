package maintain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/maintenance"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/tables"
)

const (
	// cleanupEvery is the interval between two automatic cleanups of a table.
	cleanupEvery = 24 * time.Hour
	// idleEvery is the longest interval. While the table is not written, the interval doubles up to it.
	idleEvery = 30 * 24 * time.Hour
)

// cleaned records the last cleanup of a table.
type cleaned struct {
	At time.Time `json:"at"`
	// Versions is a hash of the newest versions, including branches. Retention and Keep are the policy.
	Versions  string        `json:"versions,omitempty"`
	Retention time.Duration `json:"retention,omitempty"`
	Keep      int           `json:"keep,omitempty"`
	// Idle counts the consecutive cleanups that deleted nothing but leftovers of crashed writers.
	Idle int `json:"idle,omitempty"`
}

// next returns the record of the next cleanup and its due time. The cleanup is delayed if the last one deleted all
// replaced versions and the table was not written since. Versions of a deleted tag then stay longer, too.
func (c cleaned) next(now time.Time, versions string, made time.Time, policy upkeep.Policy, fileAge time.Duration) (next cleaned, due time.Time) {
	next = cleaned{At: now, Versions: versions, Retention: policy.Retention, Keep: policy.Keep}
	if c.Versions != next.Versions || c.Retention != next.Retention || c.Keep != next.Keep || c.At.Sub(made) <= max(policy.Retention, fileAge) {
		return next, c.At.Add(cleanupEvery)
	}
	next.Idle = c.Idle + 1
	return next, c.At.Add(min(cleanupEvery<<min(c.Idle, 10), idleEvery))
}

// poll returns the maintenance that a table needs and its policy allows, or nil.
func (k *Keeper) poll(ctx context.Context, id []string) (*jobs.Trigger, error) {
	if len(id) == 0 {
		return nil, nil
	}
	found, err := k.Tables.Names.Table(ctx, id)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	k.Tables.FollowFills(ctx, found) // needed for tables that other programs write
	if err := k.noteSize(ctx, found); err != nil {
		return nil, err
	}
	policy, err := PolicyOf(ctx, k.Tables.Names, id)
	if gone(err) {
		return nil, nil
	}
	if err != nil || !policy.Compact && !policy.Indices && !policy.Cleanup {
		return nil, err
	}
	order := Order{Gradual: true, Retention: policy.Retention, Keep: policy.Keep}
	family, err := maintenance.FamilyOf(ctx, k.Tables.At(found))
	if err != nil {
		return nil, err
	}
	if policy.Compact {
		fragments, err := family.ToCompact(ctx, k.compaction(order))
		if engine.IsDeclared(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		order.Compact = fragments > 0
	}
	if policy.Indices {
		indices, err := family.ToFold(ctx, order.worth)
		if engine.IsDeclared(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		order.Indices = indices > 0
	}
	if policy.Cleanup {
		if order.Cleanup, err = k.claimCleanup(ctx, found, family, policy); err != nil {
			return nil, err
		}
	}
	if !order.Compact && !order.Indices && !order.Cleanup {
		return nil, nil
	}
	version, err := k.Tables.At(found).Newest(ctx)
	if err != nil {
		return nil, err
	}
	return &jobs.Trigger{Input: order, Revision: fmt.Sprint(found.Location.URI, "@", version)}, nil
}

// noteSizeOf is noteSize for a table that may have been dropped since its maintenance began.
func (k *Keeper) noteSizeOf(ctx context.Context, id []string) error {
	if !k.Tables.Metered() {
		return nil
	}
	found, err := k.Tables.Names.Table(ctx, id)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return k.noteSize(ctx, found)
}

// noteSize stores the size of a table for the metering of usage, if there is any: the bytes of the data files and of the
// indices of its newest version.
func (k *Keeper) noteSize(ctx context.Context, found *catalog.Table) error {
	if !k.Tables.Metered() {
		return nil
	}
	bytes, err := engine.Read(ctx, k.Tables.At(found), nil, func(_ context.Context, d *dataset.Dataset) (int64, error) { return storedBytes(d), nil })
	if gone(err) { // also if the table is only declared
		return nil
	}
	if err != nil {
		return err
	}
	namespace := ""
	if len(found.ID) > 1 {
		namespace = found.ID[0]
	}
	return usage.NoteStored(ctx, k.Records, k.Now(), found.Location.URI, namespace, bytes)
}

// storedBytes returns the bytes of the files of a version, as its manifest has them. It leaves out indices that it cannot
// read, and those of early writers, which recorded no sizes.
func storedBytes(d *dataset.Dataset) int64 {
	bytes := d.Stats().Bytes
	indices, err := d.Indices()
	if err != nil {
		return bytes
	}
	for i := range indices {
		bytes += max(0, indices[i].Bytes)
	}
	return bytes
}

// gone reports whether an error means that the table no longer exists.
func gone(err error) bool {
	code := protocol.CodeOf(err)
	return err != nil && (code == protocol.TableNotFound || code == protocol.NamespaceNotFound)
}

// claimCleanup reports whether a cleanup of the table is due, and records that it happens now. Of
// several concurrent callers only one gets true. A table younger than the interval has nothing to
// clean up.
func (k *Keeper) claimCleanup(ctx context.Context, found *catalog.Table, family maintenance.Family, policy upkeep.Policy) (bool, error) {
	now := k.Now().UTC()
	if now.Sub(found.Created) < cleanupEvery {
		return false, nil
	}
	key := cleanedKey(found)
	last, err := k.Records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) {
		return false, err
	}
	var before cleaned
	// A cheap check first: most calls end here.
	if err == nil {
		if err := last.Decode(&before); err != nil || now.Sub(before.At) < cleanupEvery {
			return false, err
		}
	}
	versions, made, err := family.LastCommit(ctx)
	if engine.IsDeclared(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(versions))
	next, due := before.next(now, hex.EncodeToString(sum[:16]), made, policy, k.fileAge())
	if now.Before(due) {
		return false, nil
	}
	value, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	// The conditional write admits one of several callers.
	_, err = k.Records.Put(ctx, record.Record{Key: key, Value: value, Version: last.Version, Expires: now.Add(2 * idleEvery)})
	if errors.Is(err, record.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// cleanedKey returns the key of a table's cleanup record. It is derived from the location, because
// the table may be renamed.
func cleanedKey(found *catalog.Table) string {
	sum := sha256.Sum256([]byte(found.Location.URI))
	return "cleaned/" + hex.EncodeToString(sum[:16])
}

// SuggestAll schedules a check of every table, including tables that are no longer written, and
// sweeps the leftovers of crashed writers from the catalog. Package sweep does the same in a job.
func (k *Keeper) SuggestAll(ctx context.Context) error {
	if err := k.Sweep(ctx); err != nil {
		return err
	}
	for after := ""; ; {
		_, next, err := k.SuggestPage(ctx, after)
		if after = next; err != nil || next == "" {
			return err
		}
	}
}

// Sweep deletes expired drops, and the leftovers of crashed writers in the catalog. Unreadable records are logged and not
// returned as errors; objects to which they may refer stay.
func (k *Keeper) Sweep(ctx context.Context) error {
	_, err := k.Tables.Names.Sweeper.Sweep(objectstore.Freeing(ctx), k.fileAge())
	var left *objects.Unswept
	if !errors.As(err, &left) || ctx.Err() != nil {
		return err
	}
	if log := k.Tables.Rows.Logger; log != nil {
		for _, one := range left.Errors {
			log.WarnContext(ctx, "a sweep of the catalog leaves out what cannot be read", "error", one)
		}
	}
	return nil
}

// SuggestPage schedules a check of each table on one page of the catalog. after is the end of the
// previous page; see [catalog.lists.Lists.After].
func (k *Keeper) SuggestPage(ctx context.Context, after string) (polls int, next string, err error) {
	ids, next, err := k.Tables.Names.Lists.After(ctx, lists.Tables, after)
	if err != nil {
		return 0, "", err
	}
	return len(ids), next, k.Tables.Jobs.SuggestEach(ctx, tables.MaintainKind, ids)
}
