package all_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// List prices of AWS in us-east-1, in dollars.
const (
	getPrice     = 0.40         // S3: a million of GET and HEAD; DELETE costs nothing
	putPrice     = 5.00         // S3: a million of PUT, POST and LIST
	invokePrice  = 0.20         // Lambda: a million of calls
	computePrice = 0.0000133334 // Lambda: a second of a gigabyte, arm64
	gatewayPrice = 1.00         // HTTP API: a million of requests
	logPrice     = 0.50         // CloudWatch: a gigabyte of log
)

// What else a request is taken to be.
const (
	storageSeconds  = 0.020 // each request to storage that has to be waited for
	computeSeconds  = 0.005
	logBytes        = 1000 // its line in the log, and that of its metrics
	memoryGigabytes = 0.5  // of functions that handle names; those of rows have 2
)

// cost is what a million of one operation costs, in dollars.
type cost struct {
	name                string
	reads, puts, others int // requests to S3 of one operation
	depth               int
	storage, rest       float64
}

// readCosts takes the costs of warm operations from the golden file of storage requests.
func readCosts(t *testing.T) []cost {
	t.Helper()
	golden, err := os.ReadFile("testdata/requests.golden")
	if err != nil {
		t.Fatal(err)
	}
	var costs []cost
	for line := range strings.Lines(string(golden)) {
		request, isRequest := strings.CutPrefix(line, "    ")
		switch parts := strings.Split(strings.TrimSpace(line), " | "); {
		case isRequest:
			c := &costs[len(costs)-1]
			switch kind, _, _ := strings.Cut(request, " "); kind {
			case "GET", "RANGE", "HEAD":
				c.reads++
			case "PUT", "LIST", "UPLOAD":
				c.puts++
			case "DELETE":
				c.others++
			default:
				t.Fatalf("no price is known of %q", request)
			}
		case len(parts) == 3 && !strings.HasPrefix(line, "#"):
			c := cost{name: parts[0]}
			if _, err := fmt.Sscanf(parts[2], "%d / %d", new(int), &c.depth); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			costs = append(costs, c)
		}
	}
	for i := range costs {
		costs[i].price()
	}
	return costs
}

func (c *cost) price() {
	c.storage = float64(c.reads)*getPrice + float64(c.puts)*putPrice
	seconds := float64(c.depth)*storageSeconds + computeSeconds
	compute := 1e6 * seconds * c.memory() * computePrice
	c.rest = gatewayPrice + invokePrice + compute + 1e6*logBytes/1e9*logPrice
}

// memory is that of the function which serves the operation, in gigabytes.
func (c *cost) memory() float64 {
	for _, word := range []string{"scan", "filter", "search", "order", "plan", "count", "append", "merge", "lookup", "take", "update", "rows"} {
		if strings.Contains(c.name, word) {
			return 4 * memoryGigabytes
		}
	}
	return memoryGigabytes
}

// The page of costs is made from the golden file, so that neither can change alone.
func TestThePageOfCostsIsMadeFromTheGoldenFile(t *testing.T) {
	const page = "../../../infra/COSTS.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- costs -->\n", "<!-- end of costs -->\n"
	before, rest, hasBegin := strings.Cut(string(data), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no section between %q and %q", page, begin, end)
	}
	var b strings.Builder
	b.WriteString("| operation, warm | reads | writes, lists | deletes | storage $ | gateway, function, log $ | together $ |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range readCosts(t) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.2f | %.2f | %.2f |\n", c.name, c.reads, c.puts, c.others, c.storage, c.rest, c.storage+c.rest)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(b.String(), got); diff != "" {
		t.Errorf("costs differ from %s (-want +got), renew with go test ./shared/service/all -run Costs -update:\n%s", page, diff)
	}
}
