package metrics

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/storage/objectstore"
)

func TestLineOfARequest(t *testing.T) {
	query, _ := operations.Lookup("QueryTable")
	var log bytes.Buffer
	observe := EMF(&log, func() time.Time { return time.UnixMilli(1_700_000_000_123) })
	observe(&httpapi.Served{
		RequestID: "r1", Operation: query, Object: "secret$table", Principal: "ada", Status: 500,
		Duration: 1500 * time.Microsecond, Cold: true, Storage: new(objectstore.Usage),
	})
	want := `{"_aws":{"Timestamp":1700000000123,"CloudWatchMetrics":[{"Namespace":"Tiltyard","Dimensions":[[],["Group"]],` +
		`"Metrics":[{"Name":"Duration","Unit":"Milliseconds"},{"Name":"Faults","Unit":"Count"},` +
		`{"Name":"StorageRequests","Unit":"Count"},{"Name":"ColdStarts","Unit":"Count"}]}]},` +
		`"Group":"query","Operation":"QueryTable","RequestID":"r1","Duration":1.5,"Faults":1,"StorageRequests":0,"ColdStarts":1}` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// What a directive names has to be a member of the line, or CloudWatch drops all of it.
func TestEMFHasAMemberForEachMetricAndDimension(t *testing.T) {
	var log bytes.Buffer
	EMF(&log, time.Now)(&httpapi.Served{Storage: new(objectstore.Usage), Status: 404})
	var members map[string]any
	if err := json.Unmarshal(log.Bytes(), &members); err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		if _, ok := members[d.Name].(float64); !ok {
			t.Errorf("metric %s is %v, want a number", d.Name, members[d.Name])
		}
	}
	if members["Group"] != "None" {
		t.Errorf("group is %v, want None: a dimension must have a value", members["Group"])
	}
}
