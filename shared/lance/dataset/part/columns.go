package part

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tiltyard/shared/lance/manifest"
)

// ColumnsOf returns the [Part.Columns] of parts that can be committed onto the version of a manifest: it identifies the version
// of data files and, unless the part overwrites the table, the fields.
func ColumnsOf(m *manifest.Manifest, overwrite bool) string {
	version, err := m.FileVersion()
	if err != nil {
		return ""
	}
	if overwrite {
		return version.String()
	}
	h := sha256.New()
	for f := range m.Schema.All() {
		fmt.Fprintf(h, "%d %d %q %q %t\n", f.ID, f.ParentID, f.Name, f.LogicalType, f.Nullable)
	}
	return version.String() + " " + hex.EncodeToString(h.Sum(nil)[:16])
}
