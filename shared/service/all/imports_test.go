package all_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport lists which of our packages a package may import. A row applies to a folder and to the
// folders below it that have no row of their own. "*" is the last part of the importer's own path,
// and "=" before a folder excludes the folders below it.
var mayImport = map[string]string{
	"functions":                              "events/changefeed boot catalog http/console events/outbox/forward/awstarget engine/udf/executor/lambdaexec engine/udf/wasm/host http/httpapi/apigateway jobs service tables jobs/transaction work storage/record/dynamorecord catalog/secretbox/kmskeys",
	"local/standins/gateway":                 "protocol",
	"local/standins/runtimeapi":              "",
	"local/standins/bucket":                  "storage/objectstore",
	"local/standins/lambda":                  "standins/gateway storage/objectstore/s3store protocol storage/record/dynamorecord standins/runtimeapi",
	"local/tools/functionbench":              "storage/objectstore/s3store standins/runtimeapi",
	"local/tools/figures":                    "",
	"local/tools/clientgen":                  "protocol",
	"local/tools/openapi":                    "arrow/arrowipc http/httpapi storage/objectstore protocol service tables",
	"local/guest":                            "guest/go",
	"local/server/notices":                   "",
	"local/server/notices/collect":           "",
	"local/server":                           "http/audit boot catalog command http/console work/doctor events/outbox/forward/awstarget engine/udf/executor/lambdaexec engine/udf/wasm/host storage/cloud/profiles storage/record/dynamorecord work/importing lance/inspect jobs lance/dataset server/handover server/notices protocol/auth server/sample server/session client flightsql storage/objectstore process/requestid process/backoff server/prometheus protocol storage/record process/release catalog/secretbox service tables",
	"local/flightsql":                        "arrow/arrowipc arrow/rowjson client protocol process/release sql/syntax",
	"local/server/handover":                  "process/backoff",
	"local/server/session":                   "protocol/auth http/httpapi protocol",
	"local/server/sample":                    "client http/httpapi protocol",
	"local/server/prometheus":                "http/httpapi lance/dataset process/memory storage/objectstore/rangecache",
	"shared/storage/format":                  "protocol",
	"shared/boot":                            "=lance boot/traced events/outbox/forward process/tracing =engine/udf engine/udf/executor engine/udf/wasm engine/udf/wasm/frame jobs/transaction process/memory tables/vending arrow/arrowipc http/audit protocol/auth http/httpapi jobs/idempotency jobs http/metrics http/quota storage/objectstore process/requestid protocol storage/record process/release catalog/result catalog/secretbox storage/cloud tables/stores",
	"shared/http/metrics":                    "http/httpapi",
	"shared/http/quota":                      "jobs/usage process/backoff protocol/auth protocol storage/record",
	"shared/process/tally":                   "",
	"shared/http/httpapi":                    "http/quota process/tally process/tracing storage/format process/memory arrow/arrowipc arrow/rowjson protocol/auth jobs/idempotency storage/objectstore process/requestid protocol catalog/result storage/outage storage/record",
	"shared/http/httpapi/apigateway":         "http/httpapi process/requestid",
	"shared/http/audit":                      "",
	"shared/catalog/result":                  "process/memory storage/objectstore protocol",
	"shared/process/requestid":               "",
	"shared/process/scratch":                 "",
	"shared/process/tracing":                 "",
	"shared/boot/traced":                     "=process/tracing jobs storage/objectstore storage/record",
	"shared/process/tracing/tracetest":       "",
	"shared/protocol/auth":                   "protocol",
	"local/simulation":                       "",
	"local/tools/enginebench":                "arrow/arrowipc engine index/fulltext lance/dataset lance/indexmeta storage/objectstore index/ivf",
	"shared/service":                         "process/tally events/changefeed events/outbox events/outbox/forward =engine/udf process/memory service arrow/arrowipc protocol/auth tables/vending catalog engine index/fulltext http/httpapi index jobs lance/dataset lance/indexmeta lance/manifest lance/schema jobs/multipart storage/objectstore protocol storage/record catalog/secretbox sql tables jobs/transaction index/vector engine/view work",
	"shared/client":                          "arrow/arrowipc protocol",
	"shared/http/console":                    "",
	"shared/events/outbox":                   "storage/format process/memory storage/objectstore protocol storage/record",
	"shared/events/outbox/forward":           "events/outbox events/outbox/forward engine/udf/executor process/backoff protocol storage/record",
	"shared/events/changefeed":               "protocol/auth catalog events/outbox events/outbox/forward storage/format jobs storage/objectstore protocol storage/record jobs/transaction",
	"shared/jobs":                            "process/tally process/tracing storage/format process/memory jobs protocol jobs/transaction process/backoff storage/outage protocol/auth storage/objectstore",
	"shared/tables":                          "process/tally events/changefeed protocol/auth catalog engine =engine/udf jobs/idempotency jobs lance/dataset lance/manifest jobs/multipart storage/objectstore protocol storage/record sql jobs/transaction tables/vending tables/parts tables/stores",
	"shared/tables/parts":                    "client engine/query engine/scatter process/memory protocol protocol/auth storage/cloud tables/stores",
	"shared/work":                            "events/changefeed protocol/auth catalog engine index/fulltext engine/udf index jobs lance/dataset lance/indexmeta storage/objectstore protocol storage/record catalog/secretbox tables jobs/transaction engine/view work storage/outage",
	"shared/tables/stores":                   "protocol/auth =engine/udf jobs storage/objectstore storage/record tables/vending",
	"shared/work/doctor":                     "catalog engine events/outbox lance/dataset storage/objectstore protocol storage/record tables jobs/transaction",
	"shared/work/importing":                  "catalog engine lance/dataset storage/objectstore protocol",
	"shared/catalog":                         "storage/format process/memory protocol/auth catalog lance/manifest storage/objectstore protocol catalog/result catalog/secretbox",
	"shared/engine":                          "process/memory process/scratch engine index/fulltext =engine/udf arrow/take index lance storage/objectstore protocol arrow/sortkey sql index/vector",
	"shared/engine/view":                     "process/memory engine =engine/udf engine/chunking lance protocol sql arrow/take engine/view",
	"shared/engine/udf":                      "protocol",
	"shared/engine/chunking":                 "index/fulltext",
	"shared/engine/udf/builtin":              "arrow/arrowipc =engine/udf engine/chunking process/memory protocol",
	"shared/engine/udf/wasm":                 "arrow/arrowipc =engine/udf engine/udf/wasm/frame process/memory protocol arrow/take",
	"shared/engine/udf/wasm/host":            "engine/udf/wasm/frame",
	"shared/engine/udf/executor":             "process/tracing process/memory arrow/arrowipc engine/udf storage/objectstore process/backoff protocol arrow/take",
	"shared/index":                           "process/memory index/fulltext process/float16 index lance arrow/sortkey index/vector sql/pruning sql/rustregex",
	"shared/index/indextest":                 "process/memory index lance storage/objectstore",
	"shared/lance/inspect":                   "lance storage/objectstore",
	"shared/lance":                           "process/memory lance storage/objectstore process/release arrow/take process/backoff",
	"shared/jobs/multipart":                  "arrow/arrowipc lance/dataset/part process/backoff protocol storage/record",
	"shared/jobs/transaction":                "storage/format process/memory protocol storage/record process/backoff protocol/auth",
	"shared/jobs/usage":                      "storage/record",
	"shared/jobs/idempotency":                "storage/record process/backoff",
	"shared/storage/record":                  "storage/format storage/objectstore storage/record",
	"shared/storage/record/dynamorecord":     "storage/cloud storage/format storage/record",
	"shared/storage/cloud":                   "storage/outage",
	"shared/storage/cloud/profiles":          "storage/cloud",
	"shared/storage/outage":                  "",
	"shared/storage/objectstore/s3store":     "storage/cloud storage/objectstore storage/outage process/backoff",
	"shared/events/outbox/forward/awstarget": "storage/cloud events/outbox/forward protocol",
	"shared/engine/udf/executor/lambdaexec":  "storage/cloud engine/udf/executor process/memory storage/objectstore",
	"shared/arrow/arrowipc":                  "process/memory",
	"shared/index/fulltext":                  "process/memory index/fulltext lance index/snowball",
	"shared/arrow/take":                      "process/memory",
	"shared/process/float16":                 "",
	"shared/arrow/sortkey":                   "process/memory process/scratch",
	"shared/index/snowball":                  "index/snowball",
	"shared/engine/selection":                "=sql engine/chunking sql/plan sql/syntax",
	"shared/sql/plan":                        "process/memory sql",
	"shared/sql/aggregate":                   "sql/internal/column",
	"shared/sql/internal/fn":                 "=sql sql/cast sql/internal/datetime sql/internal/column sql/internal/compute sql/internal/expr sql/internal/fn sql/internal/meter sql/rustregex",
	"shared/sql/pruning":                     "sql/internal/column sql/internal/meter sql/rustregex",
	"shared/sql/internal/compute":            "=sql sql/cast sql/internal/datetime sql/internal/column sql/internal/expr sql/internal/meter",
	"shared/sql/internal/expr":               "=sql sql/cast sql/internal/datetime sql/internal/column sql/internal/meter",
	"shared/sql/cast":                        "=sql sql/internal/datetime sql/internal/column sql/internal/meter",
	"shared/sql/internal/column":             "process/float16 =sql sql/internal/meter",
	"shared/sql/rustregex":                   "=sql sql/internal/meter",
	"shared/sql/syntax":                      "=sql sql/internal/datetime",
	"shared/sql/internal/sqltest":            "=sql sql/plan sql/syntax",
	"shared/sql/internal/datetime":           "=sql",
	"shared/sql/internal/meter":              "process/memory =sql",
	"shared/sql":                             "",
	"shared/process/memory":                  "",
	"shared/index/vector":                    "process/memory process/float16",
	"shared/tables/vending":                  "",
	"shared/tables/vending/stsvendor":        "tables/vending",
	"shared/catalog/secretbox":               "",
	"shared/catalog/secretbox/kmskeys":       "=catalog/secretbox",
	"shared/process/backoff":                 "",
	"shared/process/release":                 "",
	"shared/storage/objectstore":             "storage/objectstore process/backoff",
	"shared/storage/objectstore/rangecache":  "process/memory storage/objectstore",
	"shared/protocol":                        "=protocol",
	"shared/protocol/operations":             "protocol",
	"shared/protocol/eventapi":               "=protocol protocol/jobapi",
	"shared/protocol/functionapi":            "=protocol protocol/secretapi",
	"shared/protocol/schemaapi":              "=protocol protocol/functionapi",
	"shared/protocol/versionapi":             "=protocol protocol/tableapi",

	"shared/engine/udf/expression": "=engine/udf process/memory protocol sql arrow/take",
	"local/command":                "client arrow/rowjson process/float16 process/release mcp rowfile storage/outage protocol sql/syntax",
	"local/mcp":                    "client arrow/rowjson rowfile protocol",
	"local/rowfile":                "client arrow/rowjson protocol",

	"shared/arrow":               "",
	"shared/events":              "",
	"shared/http":                "",
	"shared/process":             "",
	"shared/storage":             "",
	"shared/service/all/alltest": "protocol/auth http/httpapi jobs/idempotency jobs storage/objectstore storage/record catalog/result catalog/secretbox service tables",

	"shared/engine/internal/prefilter": "process/memory engine/internal/explain index lance storage/objectstore sql",
	"shared/engine/rowerror":           "process/memory arrow/arrowipc lance/dataset storage/objectstore",

	"shared/engine/wal":         "lance protocol",
	"shared/engine/blobs":       "process/memory =engine engine/computed engine/apierror lance/dataset protocol",
	"shared/engine/indices":     "=engine engine/internal/prefilter index/kinds lance/dataset",
	"shared/engine/maintenance": "=engine engine/rowerror =lance lance/dataset protocol",
	"shared/engine/history":     "=engine lance/dataset lance/manifest lance/pb protocol",
	"shared/engine/evolution":   "process/memory =engine engine/computed engine/internal/condition engine/apierror arrow/take lance storage/objectstore protocol sql",
	"shared/engine/fill":        "=engine engine/computed engine/evolution engine/internal/staleness =engine/udf lance protocol",
	"shared/engine/enginetest":  "process/memory =engine engine/computed engine/evolution engine/query lance/dataset storage/objectstore protocol index/vector",

	"shared/engine/internal/explain":    "arrow/take storage/objectstore",
	"shared/engine/query":               "process/memory engine/internal/condition engine/internal/document engine/internal/explain engine/internal/grouping engine/apierror engine/internal/prefilter engine/internal/annsearch engine/internal/textsearch engine/scatter index/fulltext arrow/take index lance storage/objectstore protocol arrow/sortkey sql index/vector",
	"shared/engine/internal/condition":  "engine/apierror engine/internal/explain engine/internal/prefilter engine/selection lance/dataset lance/schema protocol sql",
	"shared/engine/internal/textsearch": "process/memory engine/internal/condition engine/internal/document engine/internal/prefilter engine/scatter index lance protocol",
	"shared/arrow/take/rowchunks":       "process/memory",
	"shared/engine/indexbuild":          "engine/internal/document index/fulltext index lance protocol",
	"shared/engine/internal/document":   "engine/apierror protocol index/fulltext/textcolumn lance/dataset",
	"shared/engine/merge":               "process/memory process/scratch engine/apierror arrow/take lance protocol sql",
	"shared/engine/apierror":            "lance protocol sql",

	"shared/lance/dataset/alter":       "=lance lance/dataset/snapshot lance/operation lance/pb lance/schema process/memory arrow/take lance/datafile =lance/dataset lance/dataset/fragment lance/dataset/stage lance/rowid",
	"shared/lance/dataset/cleanup":     "process/backoff storage/objectstore =lance/dataset lance/dataset/part lance/dataset/refs lance/dataset/snapshot lance/internal/deletion lance/manifest lance/operation",
	"shared/lance/dataset/commitlog":   "=lance/dataset lance/internal/cache lance/manifest lance/pb",
	"shared/lance/dataset/compaction":  "=lance =lance/dataset lance/dataset/fragment lance/dataset/segments lance/dataset/snapshot lance/dataset/stage lance/internal/fragreuse lance/indexmeta lance/operation lance/pb lance/rowid",
	"shared/lance/dataset/multipart":   "=lance =lance/dataset lance/dataset/part lance/operation lance/pb",
	"shared/lance/dataset/segments":    "storage/objectstore =lance lance/datafile =lance/dataset lance/dataset/snapshot lance/dataset/stage lance/indexmeta lance/operation lance/pb lance/schema",
	"shared/lance/dataset/refs":        "=lance lance/internal/cache storage/objectstore",
	"shared/lance/dataset/snapshot":    "process/memory arrow/take storage/objectstore =lance lance/datafile lance/internal/cache lance/dataset/fragment lance/internal/deletion lance/internal/fragreuse lance/indexmeta lance/manifest lance/pb lance/rowid lance/rowset lance/schema",
	"shared/lance/dataset/datasettest": "lance/dataset/snapshot storage/objectstore =lance/dataset lance/dataset/alter lance/dataset/branches lance/pb",
	"shared/lance/dataset/branches":    "storage/objectstore =lance/dataset lance/dataset/clone lance/dataset/refs lance/dataset/snapshot lance/manifest lance/pb",
	"shared/lance/dataset/tags":        "storage/objectstore =lance/dataset lance/dataset/branches lance/dataset/refs",
	"shared/lance/dataset/clone":       "=lance/dataset lance/dataset/snapshot lance/manifest lance/operation lance/pb",
	"shared/lance/dataset/stage":       "process/memory arrow/take storage/objectstore =lance lance/datafile lance/dataset/fragment lance/internal/dictionary lance/internal/legacyfile lance/operation lance/pb lance/schema",
	"shared/lance/dataset/fragment":    "process/memory arrow/take storage/objectstore =lance lance/datafile lance/internal/cache lance/internal/deletion lance/internal/legacyfile lance/manifest lance/pb lance/rowid lance/schema",
	"shared/lance/internal/cache":      "",
	"shared/lance/dataset/part":        "process/memory arrow/arrowipc storage/objectstore =lance lance/pb lance/manifest",
	"shared/lance/internal/deletion":   "process/memory arrow/arrowipc storage/objectstore =lance lance/pb",
	"shared/lance/internal/fragreuse":  "=lance lance/pb",

	"shared/lance/encoding":                    "=lance lance/pb",
	"shared/lance/internal/encoding/read":      "=lance lance/pb =lance/encoding lance/internal/encoding/codec lance/internal/encoding/repdef lance/internal/encoding/values",
	"shared/lance/internal/encoding/write":     "=lance lance/pb =lance/encoding lance/internal/encoding/bitpack lance/internal/encoding/codec lance/internal/encoding/compress lance/internal/encoding/column lance/internal/encoding/fsst lance/internal/encoding/repdef lance/internal/encoding/values",
	"shared/lance/internal/encoding/version20": "=lance lance/pb =lance/encoding lance/internal/encoding/codec lance/internal/encoding/compress lance/internal/encoding/column lance/internal/encoding/fsst lance/internal/encoding/repdef lance/internal/encoding/values",
	"shared/lance/internal/encoding/column":    "=lance lance/pb lance/internal/encoding/bitpack lance/internal/encoding/codec lance/internal/encoding/compress lance/internal/encoding/fsst lance/internal/encoding/repdef lance/internal/encoding/values",
	"shared/lance/internal/encoding/codec":     "=lance lance/pb lance/internal/encoding/bitpack lance/internal/encoding/compress lance/internal/encoding/fsst lance/internal/encoding/values",
	"shared/lance/internal/encoding/compress":  "=lance lance/pb lance/internal/encoding/values",
	"shared/lance/internal/encoding/repdef":    "=lance lance/pb lance/internal/encoding/values",
	"shared/lance/internal/encoding/values":    "=lance lance/internal/encoding/bitpack",
	"shared/lance/internal/encoding/fsst":      "=lance",
	"shared/lance/internal/encoding/bitpack":   "",
	"shared/lance/internal/encoding/pagetest":  "lance/pb lance/schema =lance/encoding lance/internal/encoding/repdef",
	"shared/lance/internal/bytedump":           "",
	"shared/catalog/access":                    "protocol/auth catalog/claim catalog/naming catalog/stored storage/objectstore protocol",
	"shared/catalog/sweep":                     "protocol/auth catalog/claim catalog/drops catalog/functions catalog/keys catalog/ledger catalog/lists catalog/namespaces catalog/naming catalog/objects catalog/stored catalog/views storage/format storage/objectstore protocol catalog/result",
	"shared/catalog/namespaces":                "protocol/auth catalog/builtin catalog/drops catalog/functions catalog/keys catalog/lists catalog/naming catalog/objects catalog/secrets catalog/stored catalog/upkeep storage/objectstore protocol",
	"shared/catalog/views":                     "protocol/auth catalog/dependents catalog/drops catalog/keys catalog/naming catalog/objects catalog/stored storage/objectstore protocol",
	"shared/catalog/drops":                     "protocol/auth catalog/dependents catalog/keys catalog/lists catalog/naming catalog/objects catalog/stored storage/objectstore protocol",
	"shared/catalog/dependents":                "protocol/auth catalog/keys catalog/naming catalog/stored protocol",
	"shared/catalog/secrets":                   "protocol/auth catalog/keys catalog/naming catalog/objects catalog/stored storage/objectstore protocol catalog/secretbox",
	"shared/catalog/functions":                 "protocol/auth catalog/builtin catalog/keys catalog/lists catalog/naming catalog/objects catalog/stored process/memory storage/objectstore protocol",
	"shared/catalog/lists":                     "protocol/auth catalog/keys catalog/naming catalog/objects catalog/stored process/memory storage/objectstore protocol",

	"shared/catalog/batch":   "protocol/auth catalog/claim catalog/keys catalog/ledger catalog/naming catalog/objects catalog/stored lance/manifest storage/objectstore process/backoff protocol",
	"shared/catalog/naming":  "protocol/auth catalog/claim catalog/keys catalog/ledger catalog/objects catalog/stored storage/objectstore process/backoff protocol",
	"shared/catalog/claim":   "protocol/auth catalog/keys catalog/objects catalog/stored storage/objectstore protocol",
	"shared/catalog/stored":  "catalog/keys catalog/ledger catalog/objects storage/objectstore protocol catalog/secretbox protocol/auth",
	"shared/catalog/ledger":  "catalog/keys catalog/objects lance/manifest storage/objectstore protocol",
	"shared/catalog/objects": "storage/format storage/objectstore process/backoff protocol storage/outage catalog/keys",
	"shared/catalog/keys":    "",
	"shared/catalog/upkeep":  "protocol",
}

// onlyIn lists which packages may import some foreign packages.
var onlyIn = map[string]string{
	"github.com/cedar-policy": "shared/protocol/auth",
	"golang.org/x/term":       "local/command",
	"net/http":                "shared/http/httpapi shared/protocol/auth shared/boot shared/client shared/http/console shared/protocol shared/service/all/alltest shared/storage/objectstore/s3store shared/engine/udf/executor shared/events/outbox/forward shared/process/tracing local/server local/standins/gateway local/tools/openapi local/standins/runtimeapi local/standins/lambda local/standins/bucket shared/storage/cloud local/tools/clientgen local/mcp local/flightsql shared/tables/parts",
	"github.com/aws":          "shared/tables/parts shared/tables/stores shared/boot shared/catalog/secretbox/kmskeys shared/engine/udf/executor/lambdaexec shared/http/httpapi/apigateway shared/jobs/sqsqueue shared/events/outbox/forward/awstarget shared/storage/objectstore/s3store shared/storage/record/dynamorecord shared/tables/vending/stsvendor local/standins/gateway local/standins/lambda local/tools/functionbench shared/storage/cloud",
	"github.com/awslabs":      "shared/http/httpapi/apigateway",
	"github.com/spf13/cobra":  "local/command local/server",
	"google.golang.org/grpc":  "local/flightsql",
	"github.com/spf13/pflag":  "local/server",
	"C":                       "",

	"github.com/modelcontextprotocol": "local/mcp",

	"github.com/tetratelabs/wazero": "shared/engine/udf/wasm/host",
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range listPackages(t) {
		importer := strings.TrimPrefix(p.ImportPath, "tiltyard/")
		row, ok := nearest(importer)
		if !ok {
			t.Errorf("no row says what %s may import", importer)
			continue
		}
		allowed := strings.Fields(strings.ReplaceAll(mayImport[row], "*", path.Base(importer)))
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, "tiltyard/")
			name := strings.TrimPrefix(strings.TrimPrefix(ours, "shared/"), "local/")
			if isOurs && !within(name, allowed) {
				t.Errorf("%s imports %s; it may import: %s", importer, ours, mayImport[row])
			}
			for what, where := range onlyIn {
				if within(imported, []string{what}) && !within(importer, strings.Fields(where)) {
					t.Errorf("%s imports %s; only these may: %s", importer, imported, where)
				}
			}
		}
	}
}

// The table format and the stores are libraries that other programs may use: they and their imports
// contain no server. The client of S3 needs HTTP.
func TestLibrariesBringNoServer(t *testing.T) {
	for _, p := range listPackages(t) {
		importer := strings.TrimPrefix(p.ImportPath, "tiltyard/")
		if !within(importer, []string{"shared/lance", "shared/storage/objectstore", "shared/sql", "shared/arrow/arrowipc", "shared/index/vector"}) || importer == "shared/storage/objectstore/s3store" {
			continue
		}
		for _, banned := range []string{"net/http", "tiltyard/shared/protocol", "tiltyard/shared/http/httpapi"} {
			if slices.Contains(p.Deps, banned) {
				t.Errorf("%s brings %s", importer, banned)
			}
		}
	}
}

// The runtime of WebAssembly makes a program larger, and each function of AWS begins by loading itself: only
// those that run functions of users contain it.
func TestProgramsWithoutUserFunctionsLackTheWasmRuntime(t *testing.T) {
	for _, p := range listPackages(t) {
		importer := strings.TrimPrefix(p.ImportPath, "tiltyard/")
		allowed := importer == "functions/worker" || importer == "local/server" || importer == "shared/engine/udf/wasm/host"
		if !allowed && slices.Contains(p.Deps, "tiltyard/shared/engine/udf/wasm/host") {
			t.Errorf("%s contains the runtime of WebAssembly", importer)
		}
	}
}

// Functions contain the clients of the services that their roles give rights to, and take their credentials from the
// environment: each further client makes a function larger, and its start slower.
func TestFunctionsContainTheClientsThatTheyUse(t *testing.T) {
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	usual := "dynamodb s3 sqs"
	clients := map[string]string{
		"default": "s3", "query": "dynamodb s3", "table": usual + " sts", "view": usual + " kms", "stream": usual + " kms sts",
		"worker": usual + " kms eventbridge lambda",
	}
	for _, p := range listPackages(t) {
		name, isFunction := strings.CutPrefix(p.ImportPath, "tiltyard/functions/")
		if !isFunction {
			continue
		}
		allowed, ok := clients[name]
		if !ok {
			allowed = usual
		}
		var contained []string
		for _, dep := range p.Deps {
			service, isService := strings.CutPrefix(dep, services)
			if isService && !strings.Contains(service, "/") {
				contained = append(contained, service)
			}
			if dep == "github.com/aws/aws-sdk-go-v2/config" {
				t.Errorf("%s contains all sources of credentials", name)
			}
		}
		slices.Sort(contained)
		if want := slices.Sorted(slices.Values(strings.Fields(allowed))); !slices.Equal(contained, want) {
			t.Errorf("%s contains the clients of %v, want %v", name, contained, want)
		}
	}
}

// Arrow Flight SQL comes over HTTP/2, which the gateway of the functions does not pass on. They begin without it.
func TestFunctionsLackFlightSQL(t *testing.T) {
	for _, p := range listPackages(t) {
		importer := strings.TrimPrefix(p.ImportPath, "tiltyard/")
		if !within(importer, []string{"functions", "shared"}) {
			continue
		}
		for _, banned := range p.Deps {
			if within(banned, []string{"google.golang.org/grpc", "github.com/apache/arrow-go/v18/arrow/flight"}) {
				t.Errorf("%s contains %s", importer, banned)
			}
		}
	}
}

// The decoder that builders of Arrow take has another type without the build tags of the Makefile, so a call with one
// of encoding/json compiles only with them. UnmarshalJSON takes bytes.
func TestSourceBuildsWithoutTags(t *testing.T) {
	files := 0
	for _, folder := range []string{"functions", "local", "shared"} {
		err := filepath.WalkDir("../../../"+folder, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || path.Ext(name) != ".go" || strings.HasSuffix(name, "imports_test.go") {
				return err
			}
			source, err := os.ReadFile(name)
			if files++; bytes.Contains(source, []byte(".UnmarshalOne(")) {
				t.Errorf("%s calls UnmarshalOne", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 1000 {
		t.Errorf("read %d files, want all", files)
	}
}

// nearest returns the row for a package: its own, or that of a folder above.
func nearest(importer string) (row string, ok bool) {
	for row = importer; row != "."; row = path.Dir(row) {
		if _, ok = mayImport[row]; ok {
			return row, true
		}
	}
	return "", false
}

// within reports whether a package is one of the rooms or lies in one. A room with "=" before it
// excludes the folders below it.
func within(name string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool {
		alone, isAlone := strings.CutPrefix(room, "=")
		return name == alone || !isAlone && strings.HasPrefix(name, room+"/")
	})
}

// listPackages asks the go command for our packages, without their tests.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "tiltyard/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p goPackage
		if err := decoder.Decode(&p); err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) < 20 {
		t.Fatalf("go list knows %d packages, want all", len(packages))
	}
	return packages
}
