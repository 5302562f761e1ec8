package manifest

import (
	"fmt"
	"math/bits"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
)

// Feature flags. A reader must support every bit in a manifest's ReaderFlags, a writer
// every bit in its WriterFlags.
//
// Source: crate lance-table, src/feature_flags.rs.
const (
	FlagDeletionFiles     uint64 = 1 << 0 // some fragment has a deletion file
	FlagStableRowIDs      uint64 = 1 << 1 // rows keep their ids; every fragment lists them
	FlagV2Format          uint64 = 1 << 2 // obsolete: data files are of version 2
	FlagTableConfig       uint64 = 1 << 3 // the config is not empty
	FlagBasePaths         uint64 = 1 << 4 // files may be outside of the table
	FlagInlineOnly        uint64 = 1 << 5 // transactions are inline, not in files
	FlagDataOverlays      uint64 = 1 << 6 // cells are overlaid by other files
	FlagCoveringIndices   uint64 = 1 << 7 // indices carry columns they are not keyed on
	FlagMixedFileVersions uint64 = 1 << 8 // data files may differ in version; each entry records its own
	FlagReuseStableRowIDs uint64 = 1 << 9 // a fragment reuse index with stable row ids
	FlagFragmentReuse     uint64 = 1 << 10
	FlagSpilledRowLineage uint64 = 1 << 11 // row ids are hidden columns of data files
	FlagFragmentTree      uint64 = 1 << 12
	FlagFreeCoveringField uint64 = 1 << 13
	FlagManagedBlobs      uint64 = 1 << 14
	FlagFieldIDsOnce      uint64 = 1 << 15 // field ids are never used again
	FlagZoneSeeds         uint64 = 1 << 16
	FlagObjectMetadata    uint64 = 1 << 17
)

var flagNames = [...]string{
	"deletion files", "stable row ids", "v2 format", "table config", "base paths",
	"inline transactions only", "data overlays", "covering indices", "mixed file versions",
	"fragment reuse with stable row ids", "fragment reuse index", "spilled row lineage",
	"fragment tree", "independent covering fields", "managed blobs",
	"non-reusable field ids", "zone seeds", "object metadata",
}

const (
	readable = FlagDeletionFiles | FlagStableRowIDs | FlagV2Format | FlagTableConfig |
		FlagBasePaths | FlagInlineOnly | FlagMixedFileVersions | FlagSpilledRowLineage | FlagFieldIDsOnce
	writable = readable &^ (FlagSpilledRowLineage | FlagFieldIDsOnce)

	// kept flags are never cleared; the other flags are computed for each version.
	kept = FlagMixedFileVersions | FlagInlineOnly
)

// CheckReadable returns [lance.ErrUnsupported], with the names of the features, if the table uses
// reader features unknown to this package: those of its flags, and those that its files and
// fragments use without a flag.
func (m *Manifest) CheckReadable() error {
	if err := refuseFlags("read", m.ReaderFlags&^readable); err != nil {
		return err
	}
	return m.checkUnderstood()
}

// CheckWritable returns [lance.ErrUnsupported] if the table uses writer features unknown to this
// package.
func (m *Manifest) CheckWritable() error {
	if err := m.CheckReadable(); err != nil {
		return err
	}
	if err := refuseFlags("write", m.WriterFlags&^writable); err != nil {
		return err
	}
	return m.checkLegacy()
}

func refuseFlags(what string, unknown uint64) error {
	if unknown == 0 {
		return nil
	}
	return fmt.Errorf("%w: to %s the table needs %s", lance.ErrUnsupported, what, strings.Join(FlagNames(unknown), ", "))
}

// FlagNames returns the names of the features whose flags are set, for error texts.
func FlagNames(flags uint64) []string {
	var names []string
	for rest := flags; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros64(rest)
		if bit < len(flagNames) {
			names = append(names, flagNames[bit])
		} else {
			names = append(names, fmt.Sprintf("feature flag %d", bit))
		}
	}
	return names
}

// SetFlags computes the flags from the content, for a manifest that is about to be
// committed. Flags that do not show in the content, such as stable row ids, stay as they
// are. It is an error if only some fragments have row ids.
func (m *Manifest) SetFlags() error {
	reader, writer := m.ReaderFlags&kept, m.WriterFlags&kept
	both := uint64(0)
	if len(m.BasePaths) > 0 {
		both |= FlagBasePaths
	}
	stable := m.StableRowIDs()
	version, err := m.FileVersion()
	if err != nil {
		return err
	}
	for _, f := range m.Fragments {
		if f.DeletionFile != nil {
			both |= FlagDeletionFiles
		}
		stable = stable || f.RowIDs != nil
		for i := range f.Files {
			if !fileHas(&f.Files[i], version) {
				both |= FlagMixedFileVersions
			}
		}
	}
	if stable {
		both |= FlagStableRowIDs
		for _, f := range m.Fragments {
			if f.RowIDs == nil {
				return m.corrupt("fragment %d has no row ids", f.ID)
			}
		}
	}
	if len(m.Config) > 0 {
		writer |= FlagTableConfig
	}
	m.ReaderFlags, m.WriterFlags = reader|both, writer|both
	return nil
}

// fileHas reports whether a data file has the version of new files.
func fileHas(f *pb.DataFile, v lance.Version) bool {
	is, err := fileVersion(f)
	return err == nil && is == v
}
