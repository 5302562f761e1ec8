package all_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

// The page of costs, the list of prices that it is computed from, and the table of functions, which
// has what memory they get.
const (
	costsPage     = "../../../infra/COSTS.md"
	pricesFile    = "../../../infra/prices.json"
	functionsFile = "../../../infra/function.go"
)

// What else a request is taken to be.
const (
	storageSeconds  = 0.020 // each request to storage that has to be waited for
	computeSeconds  = 0.005
	logBytes        = 1000 // its line in the log, and that of its metrics
	namesGigabytes  = 0.5  // memory of functions that handle names
	rowsGigabytes   = 2.0  // memory of functions that handle rows
	hours           = 730  // of a month
	seconds         = hours * 3600
	freeStreamBytes = 6e6 // of a streamed answer, which have no limit of speed either
	streamBytes     = 2e6 // in a second, after those
)

// A priceList holds dollars by name.
type priceList struct {
	Date, Region string
	Dollars      map[string]struct {
		Price float64
		Per   string
	}
}

func readPrices(t *testing.T) *priceList {
	t.Helper()
	data, err := os.ReadFile(pricesFile)
	if err != nil {
		t.Fatal(err)
	}
	list := new(priceList)
	if err := json.Unmarshal(data, list); err != nil {
		t.Fatal(err)
	}
	return list
}

// of returns a price. A name that the list does not have is a mistake of the test.
func (l *priceList) of(name string) float64 {
	entry, ok := l.Dollars[name]
	if !ok {
		panic("no price is called " + name)
	}
	return entry.Price
}

// cost is what a million of one operation costs, in dollars.
type cost struct {
	name                string
	reads, puts, others int // requests to S3 of one operation
	depth               int
}

// readCosts takes the requests of warm operations from the golden file of storage requests.
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
	return costs
}

// storage returns the dollars for a million times the requests to storage.
func (c cost) storage(prices *priceList) float64 {
	return float64(c.reads)*prices.of("s3.read") + float64(c.puts)*prices.of("s3.write")
}

// rest returns the dollars for a million times the gateway, the function and its log.
func (c cost) rest(prices *priceList, gigabytes float64) float64 {
	compute := 1e6 * (float64(c.depth)*storageSeconds + computeSeconds) * gigabytes * prices.of("lambda.compute")
	return prices.of("gateway.http") + prices.of("lambda.call") + compute + 1e6*logBytes/1e9*prices.of("logs.written")
}

// costGroups has the group of each measured operation, by the beginning of its name.
var costGroups = []struct {
	begins string
	group  protocol.Group
}{
	{"namespace", protocol.GroupNamespace},
	{"table create", protocol.GroupData}, {"table drop", protocol.GroupTable}, {"table", protocol.GroupTable}, {"describe", protocol.GroupTable},
	{"version", protocol.GroupVersion}, {"tag", protocol.GroupRef},
	{"branch append", protocol.GroupData}, {"branch count", protocol.GroupQuery}, {"branch", protocol.GroupRef},
	{"append", protocol.GroupData}, {"merge_insert", protocol.GroupData}, {"update", protocol.GroupData}, {"delete", protocol.GroupData}, {"multipart", protocol.GroupData},
	{"create index", protocol.GroupIndex}, {"index", protocol.GroupIndex},
	{"open + count", protocol.GroupQuery}, {"count", protocol.GroupQuery}, {"full scan", protocol.GroupQuery}, {"filter", protocol.GroupQuery},
	{"flat vector", protocol.GroupQuery}, {"order by", protocol.GroupQuery}, {"explain", protocol.GroupQuery}, {"analyze", protocol.GroupQuery},
	{"text search", protocol.GroupQuery}, {"vector search", protocol.GroupQuery}, {"hybrid search", protocol.GroupQuery}, {"point lookup", protocol.GroupQuery}, {"take", protocol.GroupQuery},
}

// functionGigabytes returns the memory of the function that serves an operation, in gigabytes.
func functionGigabytes(t *testing.T, name string) float64 {
	t.Helper()
	source, err := os.ReadFile(functionsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range costGroups {
		if !strings.HasPrefix(name, g.begins) {
			continue
		}
		row := regexp.MustCompile(`"` + string(g.group) + `": +\{[^}]*\}`).FindString(string(source))
		switch {
		case row == "":
			t.Fatalf("%s has no function %s", functionsFile, g.group)
		case strings.Contains(row, "rows: true"):
			return rowsGigabytes
		}
		return namesGigabytes
	}
	t.Fatalf("the group of %q is not known", name)
	return 0
}

// The tables of the page are computed, so that no figure can change alone.
func TestPageOfCostsIsComputed(t *testing.T) {
	prices := readPrices(t)
	checkCosts(t, "costs", operationCosts(t, prices))
	checkCosts(t, "beyond", beyondCosts(prices))
	checkCosts(t, "uses", useCosts(t, prices))
	checkCosts(t, "answers", answerCosts(prices))
	checkCosts(t, "idle", idleCosts(t, prices))
	checkCosts(t, "prices", priceTable(prices))
}

// The page that compares services has the figures of this one.
func TestPageOfOtherServicesHasOurCosts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	figures := regexp.MustCompile(`\| (\d+) \|`).FindAllStringSubmatch(useCosts(t, readPrices(t)), -1)
	for _, figure := range figures {
		if want := "$" + figure[1]; !regexp.MustCompile(regexp.QuoteMeta(want) + `\b`).Match(page) {
			t.Errorf("the page has not %s", want)
		}
	}
	if len(figures) < 5 {
		t.Errorf("found %d figures of uses", len(figures))
	}
}

func operationCosts(t *testing.T, prices *priceList) string {
	var b strings.Builder
	b.WriteString("| operation, warm | reads | writes, lists | deletes | storage $ | gateway, function, log $ | together $ |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	write := func(name string, c cost, gigabytes float64) {
		storage, rest := c.storage(prices), c.rest(prices, gigabytes)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.2f | %.2f | %.2f |\n", name, c.reads, c.puts, c.others, storage, rest, storage+rest)
	}
	for _, c := range readCosts(t) {
		write(c.name, c, functionGigabytes(t, c.name))
		if c.name == "table describe, latest version" { // LanceDB's clients ask for it whenever they open a table
			write("LanceDB's describe, by a function of 2 GiB, such as that of the StreamUrl", c, rowsGigabytes)
		}
	}
	return b.String()
}

// beyond are searches by an index of IVF_PQ, as they were measured: the first of an instance in the table of the golden
// file, and searches of 100,000 vectors of 128 dimensions with a cache of 1 MiB, which the index does not fit into.
var beyond = []struct {
	cost
	megabytes float64
}{
	{cost{name: "vector search, the first of an instance", reads: 6, puts: 1, depth: 4}, 0.5},
	{cost{name: "vector search, index larger than the cache", reads: 26, depth: 5}, 0.7},
	{cost{name: "vector search, refined, index larger than the cache", reads: 95, depth: 6}, 3.8},
}

// beyondCosts are the dollars for a million searches that read from storage what others have in the cache.
func beyondCosts(prices *priceList) string {
	var b strings.Builder
	b.WriteString("| search | reads | lists | MB read | storage $ | gateway, function, log $ | together $ |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range beyond {
		storage, rest := s.storage(prices), s.rest(prices, rowsGigabytes)
		fmt.Fprintf(&b, "| %s | %d | %d | %.1f | %.2f | %.2f | %.2f |\n", s.name, s.reads, s.puts, s.megabytes, storage, rest, storage+rest)
	}
	return b.String()
}

// useCosts are the dollars a month for three uses, which docs/compare.md has beside those of other services.
func useCosts(t *testing.T, prices *priceList) string {
	const vectors, vectorBytes, searches, appends = 10e6, 768 * 4, 10, 1000 * 10 * hours / 1e6 // searches and appends in millions
	warm := map[string]float64{}
	for _, c := range readCosts(t) {
		warm[c.name] = c.storage(prices) + c.rest(prices, rowsGigabytes)
	}
	kept := vectors * vectorBytes / 1e9 * (prices.of("s3.storage") + prices.of("backup.s3"))
	watched := alarms*prices.of("alarm") + prices.of("dashboard") + 2*7*60*hours/1e6*prices.of("sqs")
	rows := []struct {
		name    string
		dollars float64
	}{
		{"10 million searches of 10 million × 768, the index in the cache", searches*warm["vector search by IVF_PQ"] + kept},
		{"the same, the index larger than the cache", searches*(beyond[1].storage(prices)+beyond[1].rest(prices, rowsGigabytes)) + kept},
		{"the same, refined", searches*(beyond[2].storage(prices)+beyond[2].rest(prices, rowsGigabytes)) + kept},
		{"1,000 tables, each with 10 appends an hour of up to 1,000 rows, without their compaction", appends * warm["append 1000 rows"]},
		{"no requests, 1,000 tables", watched + 1000*hours/24*lookCosts(prices)},
	}
	var b strings.Builder
	b.WriteString("| use | $ a month |\n| --- | ---: |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %.0f |\n", r.name, r.dollars)
	}
	return b.String()
}

// answerCosts are the dollars for a million large answers, each streamed by a function of 2 GiB.
func answerCosts(prices *priceList) string {
	var b strings.Builder
	b.WriteString("| answer | function $ | streaming $ | to the internet $ | together $ |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, megabytes := range []float64{1, 10, 100, 200} {
		size := megabytes * 1e6
		slow := max(0, size-freeStreamBytes)
		function := prices.of("lambda.call") + 1e6*(computeSeconds+2*storageSeconds+slow/streamBytes)*rowsGigabytes*prices.of("lambda.compute")
		stream, egress := 1e6*slow/1e9*prices.of("lambda.stream"), 1e6*size/1e9*prices.of("egress")
		fmt.Fprintf(&b, "| %.0f MB | %.2f | %.2f | %.2f | %.2f |\n", megabytes, function, stream, egress, function+stream+egress)
	}
	return b.String()
}

// idleCosts are the dollars a month for what is there when nobody asks.
func idleCosts(t *testing.T, prices *priceList) string {
	warm := float64(rowFunctions(t))*rowsGigabytes + float64(nameFunctions(t))*namesGigabytes
	rows := []struct {
		name    string
		dollars float64
	}{
		{"tables: a gigabyte in S3", prices.of("s3.storage")},
		{"tables: its daily backups, without what changes", prices.of("backup.s3")},
		{"tables: a daily look at each of a thousand that nobody writes to, by 6 reads and 2 lists of S3, and 5 requests to the records", 1000 * hours / 24 * lookCosts(prices)},
		{"tables: a gigabyte that was overwritten or deleted, for the 30 days that it can be restored", prices.of("s3.storage")},
		{"records: a gigabyte in DynamoDB, with what point-in-time recovery keeps of it", prices.of("dynamodb.storage") + prices.of("dynamodb.recovery")},
		{"records: its daily backups", prices.of("backup.dynamodb")},
		{"queues at rest: Lambda asks each of two queues about 7 times a minute", 2 * 7 * 60 * hours / 1e6 * prices.of("sqs")},
		{fmt.Sprintf("alarms: %d of a deployment without options", alarms), alarms * prices.of("alarm")},
		{"dashboard", prices.of("dashboard")},
		{"logs: a gigabyte that is kept", prices.of("logs.kept")},
		{"audit: a gigabyte of lines that Firehose takes to its bucket", prices.of("firehose")},
		{"metrics: 4 for each of 10 groups that was used, and 4 for all, by the hour of use; at most", 44 * prices.of("metric")},
		{"metrics: jobs that were set aside, in months in which there were some", prices.of("metric")},
		{"`kms=true`: a key", prices.of("kms.key")},
		{"`kms=true`: a million requests to KMS, of S3 few by its bucket key", prices.of("kms.call")},
		{"`web-acl`: a web ACL with a rule", prices.of("waf.acl") + prices.of("waf.rule")},
		{"`web-acl`: a million requests", prices.of("waf.request")},
		{"`tracing=true`: a million traces, one for each request", prices.of("xray")},
		{"`provisioned-concurrency=1`: the functions of the gateway kept warm", warm * seconds * prices.of("lambda.provisioned")},
		{"`vpc=new`: an endpoint in two zones; there is one for SQS, and up to three more", 2 * hours * prices.of("endpoint")},
		{"the clock: about 3,700 messages, and as many short calls of the worker", 3700 * (prices.of("sqs")/1e6*3 + prices.of("lambda.call")/1e6 + 0.05*rowsGigabytes*prices.of("lambda.compute"))},
		{"the probe: 8,760 requests to /readyz, by a read of S3 each", hours * 12 * (prices.of("s3.read")/1e6 + prices.of("lambda.call")/1e6 + 0.05*namesGigabytes*prices.of("lambda.compute"))},
		{"`job-image`: a queue, an alarm of its age, two alarms that scale, on three metrics, and no tasks", 4 * prices.of("alarm")},
		{"`job-image`: an hour of a task of 4 vCPU, 16 GB and 80 GB of disk beyond the first 20, while there is heavy work",
			4*prices.of("fargate.cpu") + 16*prices.of("fargate.memory") + 80*prices.of("fargate.disk")},
		{"`image`: one task of 2 vCPU and 4 GB, its load balancer, and their three addresses",
			hours * (2*prices.of("fargate.cpu") + 4*prices.of("fargate.memory") + prices.of("balancer") + 3*prices.of("address"))},
	}
	var b strings.Builder
	b.WriteString("| | $ a month |\n| --- | ---: |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %.3f |\n", r.name, r.dollars)
	}
	return b.String()
}

// lookCosts are the dollars for the look of a worker at a table that nobody writes to. Package maintain counts its
// requests in a test.
func lookCosts(prices *priceList) float64 {
	storage := 6*prices.of("s3.read") + 2*prices.of("s3.write") + 3*prices.of("dynamodb.read") + 2*prices.of("dynamodb.write")
	compute := (computeSeconds + 8*storageSeconds) * rowsGigabytes * prices.of("lambda.compute")
	return (storage+3*prices.of("sqs")+prices.of("lambda.call"))/1e6 + compute
}

// alarms is the number of alarms of a deployment without options. The test of the templates compares the
// page with it.
const alarms = 38

var functionRow = regexp.MustCompile(`(?m)^\t"\w+": +\{.*\},$`)

func countFunctions(t *testing.T, counts func(row string) bool) int {
	t.Helper()
	source, err := os.ReadFile(functionsFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, row := range functionRow.FindAllString(string(source), -1) {
		if !strings.Contains(row, "worker: true") && !strings.Contains(row, "url: true") && counts(row) {
			n++
		}
	}
	return n
}

// rowFunctions and nameFunctions return the numbers of functions behind the gateway, by their memory.
func rowFunctions(t *testing.T) int {
	return countFunctions(t, func(row string) bool { return strings.Contains(row, "rows: true") })
}

func nameFunctions(t *testing.T) int {
	return countFunctions(t, func(row string) bool { return !strings.Contains(row, "rows: true") })
}

func priceTable(prices *priceList) string {
	var b strings.Builder
	fmt.Fprintf(&b, "List prices of AWS in %s, written down on %s, without the free tier.\n\n| price | $ | for |\n| --- | ---: | --- |\n", prices.Region, prices.Date)
	for _, name := range slices.Sorted(maps.Keys(prices.Dollars)) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, strconv.FormatFloat(prices.of(name), 'f', -1, 64), prices.Dollars[name].Per)
	}
	return b.String()
}

// checkCosts compares a section of the page with what it should be.
func checkCosts(t *testing.T, section, want string) {
	t.Helper()
	data, err := os.ReadFile(costsPage)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+section+" -->\n", "<!-- end of "+section+" -->\n"
	before, rest, hasBegin := strings.Cut(string(data), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no section between %q and %q", costsPage, begin, end)
	}
	if *update {
		if err := os.WriteFile(costsPage, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differ from %s (-want +got), renew with go test ./shared/service/all -run Costs -update:\n%s", section, costsPage, diff)
	}
}
