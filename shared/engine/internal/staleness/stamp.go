package staleness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// A Stamp is the record in the metadata of a computed column, compared with a version.
type Stamp struct {
	// Absent means that the column has no record, because an old client declared it. Its values count
	// as fresh.
	Absent bool
	// Known are the recorded signatures of the fragments whose values were computed in full. Nil means
	// that all values are stale: the definition has changed, or the signatures are unreadable.
	Known Signatures
	// Carried are the signatures of fragments that later compactions made from fresh fragments.
	Carried Signatures
	// Now are the signatures of all fragments of the version; see [Now].
	Now Signatures

	definition string
}

// At returns the stamp for a later version. A changed definition makes all values stale.
func (s Stamp) At(d *dataset.Dataset, definition string, inputs Inputs) Stamp {
	now := Now(d, inputs)
	if definition != s.definition {
		return Stamp{Now: now, definition: definition}
	}
	s.Now = now
	return s
}

// IsStale reports whether the inputs of a fragment have changed since its values were computed.
func (s Stamp) IsStale(fragment uint64) bool {
	if s.Absent {
		return false
	}
	id := uint32(fragment)
	known, recorded := s.Known[id]
	if !recorded {
		known, recorded = s.Carried[id]
	}
	now, ok := s.Now[id]
	return !recorded || !ok || known != now
}

// A History calls work with an earlier version of the table. The error for a version that was
// cleaned up has the code TableVersionNotFound.
type History func(ctx context.Context, version uint64, work func(context.Context, *dataset.Dataset) error) error

// Read returns the stamp of a computed column. A missing or damaged sidecar is not an error,
// because all values can be computed again. If history is nil, compactions are ignored.
func Read(ctx context.Context, d *dataset.Dataset, column, definition string, inputs Inputs, history History) (Stamp, error) {
	stamp := Stamp{Now: Now(d, inputs), definition: definition}
	metadata := d.Schema().Field(column).Metadata
	value, ok := metadata[SignatureKey]
	if !ok {
		stamp.Absent = true
		return stamp, nil
	}
	// The signatures belong to values of an earlier definition.
	if version, ok := metadata[definitionKey]; ok && version != definition {
		return stamp, nil
	}
	known, err := read(ctx, d, value)
	switch {
	case errors.Is(err, objectstore.ErrNotExist), errors.Is(err, ErrMalformed):
		return stamp, nil
	case err != nil:
		return stamp, err
	}
	stamp.Known = known
	if from, err := strconv.ParseUint(metadata[recordedKey], 10, 64); err == nil && history != nil && isCompacted(d, known) {
		stamp.Carried, err = carried(ctx, d, known, inputs, from, history)
		return stamp, err
	}
	return stamp, nil
}

// maxSidecar bounds the bytes of a sidecar: 5 million fragments.
const maxSidecar = 64 << 20

// read reads signatures from the metadata, or from the sidecar to which it refers.
func read(ctx context.Context, d *dataset.Dataset, value string) (Signatures, error) {
	digest, ok := strings.CutPrefix(value, reference)
	if !ok {
		return decodeInline(value)
	}
	store, prefix := d.Main()
	key, ok := sidecar(prefix, digest)
	if !ok {
		return nil, ErrMalformed
	}
	// Without ranges this reads only the size.
	_, info, err := store.GetRanges(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	if info.Size > maxSidecar {
		return nil, ErrMalformed
	}
	if _, err := memory.Take(ctx, info.Size); err != nil {
		return nil, err
	}
	b, _, err := store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	if sum := sha256.Sum256(b); digest != hex.EncodeToString(sum[:]) {
		return nil, ErrMalformed
	}
	return Decode(ctx, b)
}

// Write stores the signatures of fragments whose values were computed in full, in addition to those
// in the stamp of the newest version, and returns the metadata that refers to them. computed are
// signatures in the version whose values were read. Fragments whose inputs have changed since are
// left out.
func Write(ctx context.Context, newest *dataset.Dataset, column, definition string, inputs Inputs, computed Signatures) (map[string]string, error) {
	stamp, err := Read(ctx, newest, column, definition, inputs, nil)
	if err != nil {
		return nil, err
	}
	all := Signatures{}
	maps.Copy(all, stamp.Known)
	for id, signature := range computed {
		if now, ok := stamp.Now[id]; ok && now == signature {
			all[id] = signature
		}
	}
	// Fragments that no longer exist would make the sidecar grow forever.
	live := map[uint32]bool{}
	for _, f := range newest.Fragments() {
		live[uint32(f.Meta.ID)] = true
	}
	maps.DeleteFunc(all, func(id uint32, _ uint64) bool { return !live[id] })
	set := map[string]string{SignatureKey: "{}", definitionKey: definition, recordedKey: strconv.FormatUint(newest.Version(), 10)}
	if len(all) == 0 {
		return set, nil
	}
	b := all.Encode()
	sum := sha256.Sum256(b)
	digest := hex.EncodeToString(sum[:])
	set[SignatureKey] = reference + digest
	store, prefix := newest.Main()
	key, _ := sidecar(prefix, digest)
	// The name is the digest of the content, so an existing object is equal.
	if _, err := store.Put(ctx, key, b, objectstore.Condition{IfAbsent: true}); err != nil && !errors.Is(err, objectstore.ErrPrecondition) {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	return set, nil
}
