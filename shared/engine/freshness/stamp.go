package freshness

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
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

// A Stamp is what the metadata of a computed column tells about its values.
type Stamp struct {
	// Absent is the stamp of a column that was declared before there were signatures. Its values count
	// as fresh.
	Absent bool
	// Known are the signatures of the fragments whose values were computed in full. Nil means that all
	// values are stale: the definition is another one now, or the signatures cannot be read.
	Known Signatures
}

// IsFresh reports whether the values of a fragment were computed from what the inputs have now.
func (s Stamp) IsFresh(fragment uint64, now Signatures) bool {
	if s.Absent {
		return true
	}
	known, recorded := s.Known[uint32(fragment)]
	current, ok := now[uint32(fragment)]
	return recorded && ok && known == current
}

// Read returns the stamp in the metadata of a computed column. Sidecars that are missing or damaged are
// no error, because all values can be computed again.
func Read(ctx context.Context, d *dataset.Dataset, column, definition string) (Stamp, error) {
	metadata := d.Schema().Field(column).Metadata
	value, ok := metadata[SignatureKey]
	if !ok {
		return Stamp{Absent: true}, nil
	}
	if version, ok := metadata[definitionKey]; ok && version != definition {
		return Stamp{}, nil
	}
	known, err := read(ctx, d.Home(), value)
	switch {
	case errors.Is(err, objectstore.ErrNotExist), errors.Is(err, ErrMalformed):
		return Stamp{}, nil
	case err != nil:
		return Stamp{}, err
	}
	return Stamp{Known: known}, nil
}

// maxSidecar bounds the bytes of a sidecar that is read: 5 million fragments.
const maxSidecar = 64 << 20

func read(ctx context.Context, at objectstore.Location, value string) (Signatures, error) {
	digest, ok := strings.CutPrefix(value, reference)
	if !ok {
		return decodeInline(value)
	}
	key, ok := sidecar(at, digest)
	if !ok {
		return nil, ErrMalformed
	}
	_, info, err := at.Store.GetRanges(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	if info.Size > maxSidecar {
		return nil, ErrMalformed
	}
	if _, err := memory.Take(ctx, info.Size); err != nil {
		return nil, err
	}
	b, _, err := at.Store.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	if sum := sha256.Sum256(b); digest != hex.EncodeToString(sum[:]) {
		return nil, ErrMalformed
	}
	return Decode(ctx, b)
}

// Write stores the signatures of fragments whose values were computed in full, beside those that the
// stamp of the newest version has, and returns the metadata that refers to them. computed were
// taken at the version whose values were read. A fragment whose inputs have changed since is left
// out.
func Write(ctx context.Context, newest *dataset.Dataset, column, definition string, inputs []string, computed Signatures) (map[string]string, error) {
	stamp, err := Read(ctx, newest, column, definition)
	if err != nil {
		return nil, err
	}
	now, all := Now(newest, inputs), Signatures{}
	maps.Copy(all, stamp.Known)
	for id, signature := range computed {
		if now[id] == signature {
			all[id] = signature
		}
	}
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
	at := newest.Home()
	key, _ := sidecar(at, digest)
	if _, err := at.Store.Put(ctx, key, b, objectstore.Condition{IfAbsent: true}); err != nil && !errors.Is(err, objectstore.ErrPrecondition) {
		return nil, fmt.Errorf("sidecar %s: %w", key, err)
	}
	return set, nil
}
