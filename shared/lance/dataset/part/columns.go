package part

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tiltyard/shared/lance/manifest"
)

// ColumnsOf returns the value of [Part.Columns] for parts that fit the version of a manifest. It
// identifies the data file version and, unless the part overwrites the table, the fields.
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
