package view

import (
	"strconv"
	"time"
)

// A Watermark records the version of the source that the rows of a view show. Refreshes store it in two
// places: in the properties of the transaction that changes the rows, so that both change atomically, and
// in the schema metadata, where native readers look for it.
type Watermark struct {
	Source   uint64    // version of the source
	SourceTS uint64    // time of that version, in nanoseconds since 1970
	At       time.Time // of the refresh
}

// Keys of a watermark.
const (
	sourceVersionKey = "mv.source_version"
	sourceTSKey      = "mv.source_version_ts"
	refreshedKey     = "mv.refreshed_at_ms"
	viewVersionKey   = "mv.view_version"
)

// Properties returns the watermark as properties of a transaction.
func (w Watermark) Properties() map[string]string {
	return map[string]string{
		sourceVersionKey: strconv.FormatUint(w.Source, 10),
		sourceTSKey:      strconv.FormatUint(w.SourceTS, 10),
		refreshedKey:     strconv.FormatInt(w.At.UnixMilli(), 10),
	}
}

// Stamp returns the watermark as schema metadata for the given version of the view.
func (w Watermark) Stamp(version uint64) map[string]string {
	stamp := w.Properties()
	stamp[viewVersionKey] = strconv.FormatUint(version, 10)
	return stamp
}

// WatermarkOf returns the watermark in transaction properties or schema metadata. ok is false if there is
// none.
func WatermarkOf(properties map[string]string) (w Watermark, ok bool) {
	var version, ts, ms uint64
	for key, into := range map[string]*uint64{sourceVersionKey: &version, sourceTSKey: &ts, refreshedKey: &ms} {
		n, err := strconv.ParseUint(properties[key], 10, 63)
		if err != nil {
			return w, false
		}
		*into = n
	}
	return Watermark{version, ts, time.UnixMilli(int64(ms)).UTC()}, true
}

// StampOf returns the watermark in the schema metadata of a version of the view. ok is false if there is
// none, or if it belongs to another version.
func StampOf(metadata map[string]string, version uint64) (w Watermark, ok bool) {
	if metadata[viewVersionKey] != strconv.FormatUint(version, 10) {
		return w, false
	}
	return WatermarkOf(metadata)
}
