// Package metrics writes the metrics of requests to the log, in the embedded metric format of
// CloudWatch: a line of JSON whose metadata lists the members that are metrics. The format needs no
// requests and no permissions, and nothing has to be flushed before a function is frozen. The other
// members of a line can be searched in the log.
//
// CloudWatch charges per month for each metric and combination of dimensions. So there is one
// dimension, the group of the operation, and each metric is also written without it. The operation
// itself is a member, but not a dimension.
//
// The format: docs.aws.amazon.com/AmazonCloudWatch, "Embedded metric format specification".
package metrics

import (
	"encoding/json"
	"io"
	"time"

	"tiltyard/shared/http/httpapi"
)

// Namespace is the CloudWatch namespace of the metrics.
const Namespace = "Tiltyard"

// definitions are the metrics of a line. The number of requests is the sample count of any of them.
var definitions = []definition{
	{"Duration", "Milliseconds"},
	{"Faults", "Count"},
	{"StorageRequests", "Count"},
	{"ColdStarts", "Count"},
}

// A definition names a metric and its unit, as CloudWatch expects them.
type definition struct{ Name, Unit string }

// line is the log line of one request. Definitions and dimensions refer to the names of its
// members.
type line struct {
	AWS             metadata `json:"_aws"`
	Group           string
	Operation       string
	RequestID       string
	Duration        float64
	Faults          int
	StorageRequests int64
	ColdStarts      int
}

// metadata is the part of a line that CloudWatch reads.
type metadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []directive
}

// A directive lists the metrics of a line, and the sets of dimensions by which they are aggregated.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// EMF returns an observer that writes one line per request, each with one call of Write. Requests
// without an operation are counted in the group None.
func EMF(w io.Writer, now func() time.Time) func(*httpapi.Served) {
	directives := []directive{{Namespace, [][]string{{}, {"Group"}}, definitions}}
	return func(s *httpapi.Served) {
		l := line{
			AWS:             metadata{now().UnixMilli(), directives},
			Group:           s.Operation.Function,
			Operation:       s.Operation.Name,
			RequestID:       s.RequestID,
			Duration:        float64(s.Duration.Microseconds()) / 1000,
			StorageRequests: s.Storage.Requests() + s.Storage.Writes(),
		}
		if l.Group == "" {
			l.Group = "None"
		}
		if s.Failed() {
			l.Faults = 1
		}
		if s.Cold {
			l.ColdStarts = 1
		}
		text, err := json.Marshal(l)
		if err != nil {
			return // of numbers and texts there is always one
		}
		_, _ = w.Write(append(text, '\n')) // a failure cannot be reported anywhere
	}
}
