// Package metrics writes the metrics of requests for CloudWatch into the log, in its
// embedded metric format: a line of JSON that says which of its members are metrics. It
// needs no requests and no permissions, and nothing has to be sent before a function is
// frozen. What a line holds beside metrics can be asked for with the log.
//
// A metric costs by the month and by the combination of its dimensions, so that there are
// few: the group of the operation, and none. The operation itself is a member that is not
// a dimension.
//
// The format: docs.aws.amazon.com/AmazonCloudWatch, "Embedded metric format specification".
package metrics

import (
	"encoding/json"
	"io"
	"time"

	"tiltyard/shared/httpapi"
)

// Namespace is that of the metrics in CloudWatch.
const Namespace = "Tiltyard"

// definitions are the metrics of a line. The number of requests is the sample count of
// any of them.
var definitions = []definition{
	{"Duration", "Milliseconds"},
	{"Faults", "Count"},
	{"StorageRequests", "Count"},
	{"ColdStarts", "Count"},
}

type definition struct{ Name, Unit string }

// line is one request. The names are those that the definitions and dimensions use.
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

type metadata struct {
	Timestamp         int64 // milliseconds
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

// EMF returns what writes a line for each request, with one call of Write each. Requests
// of no operation are counted in the group None.
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
		_, _ = w.Write(append(text, '\n')) // nobody could be told
	}
}
