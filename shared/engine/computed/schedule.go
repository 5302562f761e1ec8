package computed

import (
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/schema"
)

// Keys of a field's metadata, as lancedb 0.41 writes them.
const (
	autoKey     = "computed_column.auto_refresh_enabled"
	intervalKey = "computed_column.auto_refresh_interval_seconds"
)

// maxInterval bounds the interval between two fills. Longer ones count as this one.
const maxInterval = 1 << 30 * time.Second

// A Schedule controls whether a computed column is filled automatically. Without a schedule, it is filled on request only.
type Schedule struct {
	Given    bool // there is a schedule
	Enabled  bool
	Interval uint64 // minimum seconds between two fills; 0: the default of the service
}

// apply adds the schedule to the metadata of a column.
func (s Schedule) apply(metadata map[string]string) {
	if !s.Given {
		return
	}
	metadata[autoKey] = strconv.FormatBool(s.Enabled)
	if s.Interval > 0 {
		metadata[intervalKey] = strconv.FormatUint(s.Interval, 10)
	}
}

// With returns a declared column with the schedule.
func (s Schedule) With(f arrow.Field) arrow.Field {
	metadata := f.Metadata.ToMap()
	s.apply(metadata)
	f.Metadata = arrow.MetadataFrom(metadata)
	return f
}

// Scheduled reports whether a computed column is filled automatically, and the minimum time between two fills, 0 for the
// default of the service. Any writer of the table may have written the metadata, so its values are bounded.
func Scheduled(f *schema.Field) (interval time.Duration, ok bool) {
	if f.Metadata[autoKey] != "true" || Of(f) == nil {
		return 0, false
	}
	seconds, err := strconv.ParseUint(f.Metadata[intervalKey], 10, 64)
	if err != nil {
		return 0, true
	}
	if seconds > uint64(maxInterval/time.Second) {
		return maxInterval, true
	}
	return time.Duration(seconds) * time.Second, true
}
