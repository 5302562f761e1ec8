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
	"tiltyard/shared/engine"
	"tiltyard/shared/job"
	"tiltyard/shared/protocol"
	"tiltyard/shared/record"
	"tiltyard/shared/tables"
)

// cleanupEvery is how often a table is cleaned up without being asked for.
const cleanupEvery = 24 * time.Hour

// cleaned is what is noted of a table that was cleaned up.
type cleaned struct {
	At time.Time `json:"at"`
}

// wanted says whether there is something to do for a table that its policy allows. Who asks
// for the root, as a clock does where no program runs all the time, asks for all tables.
func (k *Keeper) wanted(ctx context.Context, id []string) (*job.Want, error) {
	if len(id) == 0 {
		return nil, k.SuggestAll(ctx)
	}
	policy, err := PolicyOf(ctx, k.Tables.Names, id)
	if gone(err) {
		return nil, nil
	}
	if err != nil || !policy.Compact && !policy.Cleanup {
		return nil, err
	}
	found, err := k.Tables.Names.Table(ctx, id)
	if err != nil {
		return nil, err
	}
	order := Order{Gradual: true, Retention: policy.Retention, Keep: policy.Keep}
	if policy.Compact {
		fragments, err := k.Tables.At(found).ToCompact(ctx, gradual)
		if engine.IsDeclared(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		order.Compact = fragments > 0
	}
	if policy.Cleanup {
		if order.Cleanup, err = k.claimCleanup(ctx, found); err != nil {
			return nil, err
		}
	}
	if !order.Compact && !order.Cleanup {
		return nil, nil
	}
	version, err := k.Tables.At(found).Newest(ctx)
	if err != nil {
		return nil, err
	}
	return &job.Want{Input: order, Mark: fmt.Sprint(found.Location.URI, "@", version)}, nil
}

// gone says whether a table is not there any more.
func gone(err error) bool {
	code := protocol.CodeOf(err)
	return err != nil && (code == protocol.TableNotFound || code == protocol.NamespaceNotFound)
}

// claimCleanup says whether a table was not cleaned up lately, and notes that it is now: of
// several that ask one is told so. One that is new has nothing to clean up yet.
func (k *Keeper) claimCleanup(ctx context.Context, found *catalog.Table) (bool, error) {
	now := k.Now().UTC()
	if now.Sub(found.Created) < cleanupEvery {
		return false, nil
	}
	key := cleanedKey(found)
	last, err := k.Records.Get(ctx, key)
	if err != nil && !errors.Is(err, record.ErrNotExist) {
		return false, err
	}
	if err == nil {
		var before cleaned
		if err := json.Unmarshal(last.Value, &before); err != nil || now.Sub(before.At) < cleanupEvery {
			return false, err
		}
	}
	value, err := json.Marshal(cleaned{At: now})
	if err != nil {
		return false, err
	}
	_, err = k.Records.Put(ctx, record.Record{Key: key, Value: value, Version: last.Version, Expires: now.Add(2 * cleanupEvery)})
	if errors.Is(err, record.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// cleanedKey names the note of a table, by its place: names change.
func cleanedKey(found *catalog.Table) string {
	sum := sha256.Sum256([]byte(found.Location.URI))
	return "cleaned/" + hex.EncodeToString(sum[:16])
}

// SuggestAll lets a worker look at all tables, those that nobody writes to as well. What
// writers that died have left in the catalog is deleted here and now.
func (k *Keeper) SuggestAll(ctx context.Context) error {
	if _, err := k.Tables.Names.Sweep(ctx, k.fileAge()); err != nil {
		return err
	}
	ids, err := k.Tables.Names.AllTables(ctx)
	for _, id := range ids {
		if err == nil {
			err = k.Tables.Jobs.Suggest(ctx, tables.MaintainKind, id, 0)
		}
	}
	return err
}
