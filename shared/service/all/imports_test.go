package all_test

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// mayImport lists which of our packages a package may import. A row applies to a folder and to the
// folders below it that have no row of their own. "*" is the last part of the importer's own path,
// and "=" before a folder excludes the folders below it.
var mayImport = map[string]string{
	"functions":                           "announce boot catalog console event/forward/awstarget function/executor/lambdaexec function/wasm/host httpapi/apigateway job service tables transaction work",
	"local/gateway":                       "protocol",
	"local/runtimeapi":                    "",
	"local/lambda":                        "gateway objectstore/s3store protocol record/dynamorecord runtimeapi",
	"local/functionbench":                 "objectstore/s3store runtimeapi",
	"local/figures":                       "",
	"local/clientgen":                     "protocol",
	"local/openapi":                       "arrowipc httpapi objectstore protocol service tables",
	"local/guest":                         "guest/go",
	"local/notices":                       "",
	"local/notices/collect":               "",
	"local/server":                        "audit boot catalog command console doctor event/forward/awstarget function/executor/lambdaexec function/wasm/host importing inspect job lance/dataset handover notices objectstore origin pause prometheus protocol record release sealing service tables",
	"local/handover":                      "pause",
	"local/prometheus":                    "httpapi memory",
	"shared/format":                       "protocol",
	"shared/boot":                         "boot/traced event/forward tracing =function function/executor function/wasm function/wasm/frame transaction memory vending arrowipc audit auth httpapi idempotency job metrics objectstore origin protocol record release result sealing cloud tables/stores",
	"shared/metrics":                      "httpapi",
	"shared/httpapi":                      "tracing format memory arrowipc auth idempotency objectstore origin protocol result outage record",
	"shared/httpapi/apigateway":           "httpapi origin",
	"shared/audit":                        "",
	"shared/result":                       "memory objectstore protocol",
	"shared/origin":                       "",
	"shared/tracing":                      "",
	"shared/boot/traced":                  "=tracing job objectstore record",
	"shared/tracing/tracetest":            "",
	"shared/auth":                         "protocol",
	"local/simulation":                    "",
	"local/enginebench":                   "arrowipc engine fulltext lance/dataset lance/indexmeta objectstore index/ivf",
	"shared/service":                      "announce event event/forward =function memory service arrowipc auth vending catalog engine fulltext httpapi index job lance/dataset lance/indexmeta lance/manifest lance/schema multipart objectstore protocol record sealing sql tables transaction vector view work",
	"shared/client":                       "arrowipc protocol",
	"shared/console":                      "",
	"shared/event":                        "format memory objectstore protocol record",
	"shared/event/forward":                "event event/forward function/executor pause protocol record",
	"shared/announce":                     "auth catalog event event/forward format job objectstore protocol record transaction",
	"shared/job":                          "tracing format memory job protocol transaction pause outage auth objectstore",
	"shared/tables":                       "announce auth catalog engine =function idempotency job lance/dataset lance/manifest multipart objectstore protocol record sql transaction vending tables/stores",
	"shared/work":                         "announce auth catalog engine fulltext function index job lance/dataset lance/indexmeta objectstore protocol record sealing tables transaction view work outage",
	"shared/tables/stores":                "auth =function job objectstore record vending",
	"shared/doctor":                       "catalog engine event lance/dataset objectstore protocol record tables transaction",
	"shared/importing":                    "catalog engine lance/dataset objectstore protocol",
	"shared/catalog":                      "format memory auth catalog lance/manifest objectstore protocol result sealing",
	"shared/engine":                       "memory engine fulltext =function take index lance objectstore protocol sortkey sql vector",
	"shared/view":                         "memory engine =function splitting lance protocol sql take view",
	"shared/function":                     "protocol",
	"shared/splitting":                    "fulltext",
	"shared/function/builtin":             "arrowipc =function splitting memory protocol",
	"shared/function/wasm":                "arrowipc =function function/wasm/frame memory protocol take",
	"shared/function/wasm/host":           "function/wasm/frame",
	"shared/function/executor":            "tracing memory arrowipc function objectstore pause protocol take",
	"shared/index":                        "memory fulltext half index lance sortkey vector sql/pruning sql/rustregex",
	"shared/index/indextest":              "memory index lance objectstore",
	"shared/inspect":                      "lance objectstore",
	"shared/lance":                        "memory lance objectstore release take pause",
	"shared/multipart":                    "arrowipc lance/dataset/part pause protocol record",
	"shared/transaction":                  "format memory protocol record pause auth",
	"shared/idempotency":                  "record pause",
	"shared/record":                       "format objectstore record",
	"shared/record/dynamorecord":          "cloud format record",
	"shared/cloud":                        "outage",
	"shared/outage":                       "",
	"shared/objectstore/s3store":          "cloud objectstore outage pause",
	"shared/event/forward/awstarget":      "cloud event/forward protocol",
	"shared/function/executor/lambdaexec": "cloud function/executor memory objectstore",
	"shared/arrowipc":                     "memory",
	"shared/fulltext":                     "memory fulltext lance snowball",
	"shared/take":                         "memory",
	"shared/half":                         "",
	"shared/sortkey":                      "memory",
	"shared/snowball":                     "snowball",
	"shared/sql/selection":                "=sql splitting sql/plan sql/syntax",
	"shared/sql/plan":                     "memory sql",
	"shared/sql/aggregate":                "sql/column",
	"shared/sql/fn":                       "=sql sql/cast sql/clock sql/column sql/compute sql/expr sql/fn sql/meter sql/rustregex",
	"shared/sql/pruning":                  "sql/column sql/meter sql/rustregex",
	"shared/sql/compute":                  "=sql sql/cast sql/clock sql/column sql/expr sql/meter",
	"shared/sql/expr":                     "=sql sql/cast sql/clock sql/column sql/meter",
	"shared/sql/cast":                     "=sql sql/clock sql/column sql/meter",
	"shared/sql/column":                   "half =sql sql/meter",
	"shared/sql/rustregex":                "=sql sql/meter",
	"shared/sql/syntax":                   "=sql sql/clock",
	"shared/sql/sqltest":                  "=sql sql/plan sql/syntax",
	"shared/sql/clock":                    "=sql",
	"shared/sql/meter":                    "memory =sql",
	"shared/sql":                          "",
	"shared/memory":                       "",
	"shared/vector":                       "memory half",
	"shared/vending":                      "",
	"shared/sealing":                      "",
	"shared/sealing/kmskeys":              "=sealing",
	"shared/pause":                        "",
	"shared/release":                      "",
	"shared/objectstore":                  "objectstore pause",
	"shared/protocol":                     "=protocol",
	"shared/protocol/operations":          "protocol",
	"shared/protocol/eventapi":            "=protocol protocol/jobapi",
	"shared/protocol/functionapi":         "=protocol protocol/secretapi",
	"shared/protocol/schemaapi":           "=protocol protocol/functionapi",
	"shared/protocol/versionapi":          "=protocol protocol/tableapi",

	"shared/function/expression": "=function memory protocol sql take",
	"local/command":              "client half outage protocol",

	"shared/service/all/alltest": "auth httpapi idempotency job objectstore record result sealing service tables",

	"shared/engine/narrow":    "memory engine/explain index lance objectstore sql",
	"shared/engine/rowerror":  "memory arrowipc objectstore",
	"shared/engine/explain":   "take objectstore",
	"shared/engine/query":     "memory engine/condition engine/document engine/explain engine/failure engine/narrow engine/probe fulltext take index lance objectstore protocol sortkey sql vector",
	"shared/engine/condition": "engine/failure engine/narrow lance/dataset lance/schema protocol sql",
	"shared/take/pieces":      "memory",
	"shared/engine/build":     "engine/document fulltext index lance protocol",
	"shared/engine/document":  "engine/failure protocol fulltext/textcolumn lance/dataset",
	"shared/engine/merge":     "memory engine/failure take lance protocol sql",
	"shared/engine/failure":   "lance protocol sql",

	"shared/lance/dataset/alter":       "=lance lance/dataset/snapshot lance/operation lance/pb lance/schema memory take lance/datafile =lance/dataset lance/dataset/fragment lance/dataset/stage lance/rowid",
	"shared/lance/dataset/cleanup":     "pause objectstore =lance/dataset lance/dataset/part lance/dataset/refs lance/dataset/snapshot lance/deletion lance/manifest lance/operation",
	"shared/lance/dataset/commitlog":   "=lance/dataset lance/dataset/cache lance/manifest lance/pb",
	"shared/lance/dataset/compaction":  "=lance =lance/dataset lance/dataset/fragment lance/dataset/segments lance/dataset/snapshot lance/dataset/stage lance/fragreuse lance/indexmeta lance/operation lance/pb lance/rowid",
	"shared/lance/dataset/multipart":   "=lance =lance/dataset lance/dataset/part lance/operation lance/pb",
	"shared/lance/dataset/segments":    "objectstore =lance lance/datafile =lance/dataset lance/dataset/snapshot lance/dataset/stage lance/indexmeta lance/operation lance/pb lance/schema",
	"shared/lance/dataset/refs":        "=lance lance/dataset/cache objectstore",
	"shared/lance/dataset/snapshot":    "memory take objectstore =lance lance/datafile lance/dataset/cache lance/dataset/fragment lance/deletion lance/fragreuse lance/indexmeta lance/manifest lance/pb lance/rowid lance/rowset lance/schema",
	"shared/lance/dataset/datasettest": "lance/dataset/snapshot objectstore =lance/dataset lance/dataset/alter lance/dataset/branches lance/pb",
	"shared/lance/dataset/branches":    "objectstore =lance/dataset lance/dataset/clone lance/dataset/refs lance/dataset/snapshot lance/manifest lance/pb",
	"shared/lance/dataset/tags":        "objectstore =lance/dataset lance/dataset/branches lance/dataset/refs",
	"shared/lance/dataset/clone":       "=lance/dataset lance/dataset/snapshot lance/manifest lance/operation lance/pb",
	"shared/lance/dataset/stage":       "memory take objectstore =lance lance/datafile lance/dataset/fragment lance/dictionary lance/legacyfile lance/operation lance/pb lance/schema",
	"shared/lance/dataset/fragment":    "memory take objectstore =lance lance/datafile lance/dataset/cache lance/deletion lance/legacyfile lance/manifest lance/pb lance/rowid lance/schema",
	"shared/lance/dataset/cache":       "",
	"shared/lance/dataset/part":        "memory arrowipc objectstore =lance lance/pb lance/manifest",
	"shared/lance/deletion":            "memory arrowipc objectstore =lance lance/pb",
	"shared/lance/fragreuse":           "=lance lance/pb",

	"shared/lance/encoding":           "=lance lance/pb",
	"shared/lance/encoding/read":      "=lance lance/pb =lance/encoding lance/encoding/codec lance/encoding/repdef lance/encoding/values",
	"shared/lance/encoding/write":     "=lance lance/pb =lance/encoding lance/encoding/bitpack lance/encoding/codec lance/encoding/compress lance/encoding/column lance/encoding/fsst lance/encoding/repdef lance/encoding/values",
	"shared/lance/encoding/version20": "=lance lance/pb =lance/encoding lance/encoding/codec lance/encoding/compress lance/encoding/column lance/encoding/fsst lance/encoding/repdef lance/encoding/values",
	"shared/lance/encoding/column":    "=lance lance/pb lance/encoding/bitpack lance/encoding/codec lance/encoding/compress lance/encoding/fsst lance/encoding/repdef lance/encoding/values",
	"shared/lance/encoding/codec":     "=lance lance/pb lance/encoding/bitpack lance/encoding/compress lance/encoding/fsst lance/encoding/values",
	"shared/lance/encoding/compress":  "=lance lance/pb lance/encoding/values",
	"shared/lance/encoding/repdef":    "=lance lance/pb lance/encoding/values",
	"shared/lance/encoding/values":    "=lance lance/encoding/bitpack",
	"shared/lance/encoding/fsst":      "=lance",
	"shared/lance/encoding/bitpack":   "",
	"shared/lance/encoding/pagetest":  "lance/pb lance/schema =lance/encoding lance/encoding/repdef",
	"shared/lance/bytedump":           "",
	"shared/catalog/access":           "auth catalog/claim catalog/naming catalog/stored objectstore protocol",
	"shared/catalog/sweep":            "auth catalog/claim catalog/drops catalog/functions catalog/keys catalog/ledger catalog/lists catalog/namespaces catalog/naming catalog/objects catalog/stored catalog/views format objectstore protocol result",
	"shared/catalog/namespaces":       "auth catalog/builtin catalog/drops catalog/functions catalog/keys catalog/lists catalog/naming catalog/objects catalog/secrets catalog/stored catalog/upkeep objectstore protocol",
	"shared/catalog/views":            "auth catalog/dependents catalog/drops catalog/keys catalog/naming catalog/objects catalog/stored objectstore protocol",
	"shared/catalog/drops":            "auth catalog/dependents catalog/keys catalog/lists catalog/naming catalog/objects catalog/stored objectstore protocol",
	"shared/catalog/dependents":       "auth catalog/keys catalog/naming catalog/stored protocol",
	"shared/catalog/secrets":          "auth catalog/keys catalog/naming catalog/objects catalog/stored objectstore protocol sealing",
	"shared/catalog/functions":        "auth catalog/builtin catalog/keys catalog/lists catalog/naming catalog/objects catalog/stored memory objectstore protocol",
	"shared/catalog/lists":            "auth catalog/keys catalog/naming catalog/objects catalog/stored memory objectstore protocol",

	"shared/catalog/batch":   "auth catalog/claim catalog/keys catalog/ledger catalog/naming catalog/objects catalog/stored lance/manifest objectstore pause protocol",
	"shared/catalog/naming":  "auth catalog/claim catalog/keys catalog/ledger catalog/objects catalog/stored objectstore pause protocol",
	"shared/catalog/claim":   "auth catalog/keys catalog/objects catalog/stored objectstore protocol",
	"shared/catalog/stored":  "catalog/keys catalog/ledger catalog/objects objectstore protocol sealing auth",
	"shared/catalog/ledger":  "catalog/keys catalog/objects lance/manifest objectstore protocol",
	"shared/catalog/objects": "format objectstore pause protocol outage catalog/keys",
	"shared/catalog/keys":    "",
	"shared/catalog/upkeep":  "protocol",
}

// onlyIn lists which packages may import some foreign packages.
var onlyIn = map[string]string{
	"github.com/cedar-policy": "shared/auth",
	"golang.org/x/term":       "local/command",
	"net/http":                "shared/httpapi shared/auth shared/boot shared/client shared/console shared/protocol shared/service/all/alltest shared/objectstore/s3store shared/function/executor shared/event/forward shared/tracing local/server local/gateway local/openapi local/runtimeapi local/lambda shared/cloud local/clientgen",
	"github.com/aws":          "shared/boot shared/sealing/kmskeys shared/function/executor/lambdaexec shared/httpapi/apigateway shared/job/sqsqueue shared/event/forward/awstarget shared/objectstore/s3store shared/record/dynamorecord shared/vending local/gateway local/lambda local/functionbench shared/cloud",
	"github.com/awslabs":      "shared/httpapi/apigateway",
	"github.com/spf13/cobra":  "local/command local/server",
	"github.com/spf13/pflag":  "local/server",
	"C":                       "",

	"github.com/tetratelabs/wazero": "shared/function/wasm/host",
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
		if !within(importer, []string{"shared/lance", "shared/objectstore", "shared/sql", "shared/arrowipc", "shared/vector"}) || importer == "shared/objectstore/s3store" {
			continue
		}
		for _, banned := range []string{"net/http", "tiltyard/shared/protocol", "tiltyard/shared/httpapi"} {
			if slices.Contains(p.Deps, banned) {
				t.Errorf("%s brings %s", importer, banned)
			}
		}
	}
}

// The runtime of WebAssembly makes a program larger, and each function of AWS begins by loading itself: only
// those that run functions of users contain it.
func TestFewProgramsContainARuntimeOfWebAssembly(t *testing.T) {
	for _, p := range listPackages(t) {
		importer := strings.TrimPrefix(p.ImportPath, "tiltyard/")
		allowed := importer == "functions/worker" || importer == "local/server" || importer == "shared/function/wasm/host"
		if !allowed && slices.Contains(p.Deps, "tiltyard/shared/function/wasm/host") {
			t.Errorf("%s contains the runtime of WebAssembly", importer)
		}
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
