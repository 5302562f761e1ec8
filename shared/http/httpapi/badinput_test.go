package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
)

// TestBadRequestsNeverReachServices tests what this layer decides: each request gets its status and
// code with a body that names the reason, and no service is called.
func TestBadRequestsNeverReachServices(t *testing.T) {
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	header := func(pairs ...string) map[string]string {
		h := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = pairs[i+1]
		}
		return h
	}
	cases := []struct {
		name   string
		rq     request
		status int
		code   protocol.Code
		says   string // part of the error or the detail
	}{
		// paths
		{"path of nothing", request{path: "/v1/nothing"}, 404, protocol.Unsupported, "no operation"},
		{"path outside v1", request{path: "/v2/table/t/describe"}, 404, protocol.Unsupported, "no operation"},
		{"root path", request{path: "/"}, 404, protocol.Unsupported, "no operation"},
		{"other base path", request{path: "/other/v1/table/t/describe"}, 404, protocol.Unsupported, "no operation"},
		{"unknown table operation", request{path: "/v1/table/t/juggle"}, 501, protocol.Unsupported, "no operation"},
		{"unknown table operation of LanceDB", request{path: "/v1/table/t/juggle/"}, 501, protocol.Unsupported, "no operation"},
		{"table operation with a tail", request{path: "/v1/table/t/describe/x"}, 501, protocol.Unsupported, "no operation"},
		{"table id missing", request{path: "/v1/table//describe"}, 501, protocol.Unsupported, "no operation"},
		{"unknown namespace operation", request{path: "/v1/namespace/a/juggle"}, 404, protocol.Unsupported, "no operation"},
		{"literal in other case", request{path: "/v1/table/t/Describe"}, 501, protocol.Unsupported, "no operation"},
		{"literal encoded", request{path: "/v1/t%61ble/t/describe"}, 404, protocol.Unsupported, "no operation"},
		{"health by POST", request{path: "/healthz"}, 404, protocol.Unsupported, "no operation"},
		{"operation not served", request{path: "/v1/table/t/clone"}, 501, protocol.Unsupported, "CloneTable is not supported"},
		{"static route not served", request{path: "/v1/table/version/batch-create"}, 501, protocol.Unsupported, "BatchCreateTableVersions"},
		{"LanceDB route not served", request{path: "/v1/table/t/multipart_write/create"}, 501, protocol.Unsupported, "CreateMultipartWrite"},
		{"job route not served", request{path: "/v1/jobs/list"}, 501, protocol.Unsupported, "ListJobs"},

		// methods
		{"count by GET", request{method: "GET", path: "/v1/table/t/count_rows"}, 405, protocol.InvalidInput, "allowed: POST"},
		{"describe by GET", request{method: "GET", path: "/v1/table/t/describe"}, 405, protocol.InvalidInput, "allowed: POST"},
		{"drop by DELETE", request{method: "DELETE", path: "/v1/table/t/drop"}, 405, protocol.InvalidInput, "allowed: POST"},
		{"list by PUT", request{method: "PUT", path: "/v1/namespace/$/list"}, 405, protocol.InvalidInput, "allowed: GET, POST"},
		{"all tables by HEAD", request{method: "HEAD", path: "/v1/table"}, 405, protocol.InvalidInput, "allowed: GET, POST"},

		// ids
		{"percent and NUL in id", request{path: "/v1/table/a%25zz%00/describe"}, 400, protocol.InvalidInput, "control character"},
		{"NUL in id", request{path: "/v1/table/a%00/describe"}, 400, protocol.InvalidInput, "control character"},
		{"newline in id", request{path: "/v1/table/a%0Ab/describe"}, 400, protocol.InvalidInput, "control character"},
		{"escape in id", request{path: "/v1/table/%1B/describe"}, 400, protocol.InvalidInput, "control character"},
		{"DEL in id", request{path: "/v1/table/%7F/describe"}, 400, protocol.InvalidInput, "control character"},
		{"C1 control in id", request{path: "/v1/table/%C2%85/describe"}, 400, protocol.InvalidInput, "control character"},
		{"invalid UTF-8 in id", request{path: "/v1/table/%FF/describe"}, 400, protocol.InvalidInput, "UTF-8"},
		{"overlong UTF-8 in id", request{path: "/v1/table/%C0%AF/describe"}, 400, protocol.InvalidInput, "UTF-8"},
		{"surrogate in id", request{path: "/v1/table/%ED%A0%80/describe"}, 400, protocol.InvalidInput, "UTF-8"},
		{"17 levels", request{path: "/v1/namespace/" + strings.Repeat("n$", 16) + "n/describe"}, 400, protocol.InvalidInput, "at most 16"},
		{"257 bytes", request{path: "/v1/namespace/" + strings.Repeat("n", 257) + "/describe"}, 400, protocol.InvalidInput, "256 bytes"},
		{"very long id", request{path: "/v1/namespace/" + strings.Repeat("n", 10000) + "/describe"}, 400, protocol.InvalidInput, "too long"},
		{"very many levels", request{path: "/v1/namespace/" + strings.Repeat("n$", 2000) + "/describe"}, 400, protocol.InvalidInput, "levels"},
		{"root as a table", request{path: "/v1/table/$/describe"}, 400, protocol.InvalidInput, "root"},
		{"root as a table to drop", request{path: "/v1/table/$/drop"}, 400, protocol.InvalidInput, "root"},
		{"default delimiter within a component", request{path: "/v1/table/a$b.c/describe?delimiter=."}, 400, protocol.InvalidInput, `contains "$"`},
		{"body names another table", request{path: "/v1/table/a/describe", body: `{"id":["b"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body names a parent", request{path: "/v1/table/a$b/describe", body: `{"id":["a"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body names the root", request{path: "/v1/namespace/a/describe", body: `{"id":["$"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body names nothing", request{path: "/v1/table/a/describe", body: `{"id":[""]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body joins another table", request{path: "/v1/table/a$b/describe", body: `{"id":["a$c"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body joins with a delimiter that is not the request's", request{path: "/v1/table/a$b/describe", body: `{"id":["a.b"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body id in other case", request{path: "/v1/table/a/drop", body: `{"id":["A"]}`}, 400, protocol.InvalidInput, "another in the body"},
		{"body id a string", request{path: "/v1/table/a/describe", body: `{"id":"a"}`}, 400, protocol.InvalidInput, "id must be an array"},
		{"body id of numbers", request{path: "/v1/table/a/describe", body: `{"id":[1]}`}, 400, protocol.InvalidInput, "id"},
		{"body id with null", request{path: "/v1/table/a/describe", body: `{"id":[null]}`}, 400, protocol.InvalidInput, "another in the body"},

		// delimiters
		{"delimiter empty", request{path: "/v1/table/a/describe?delimiter="}, 400, protocol.InvalidInput, "delimiter is empty"},
		{"delimiter twice", request{path: "/v1/table/a/describe?delimiter=.&delimiter=$"}, 400, protocol.InvalidInput, "2 times"},
		{"delimiter too long", request{path: "/v1/table/a/describe?delimiter=" + strings.Repeat("-", 17)}, 400, protocol.InvalidInput, "delimiter"},
		{"delimiter a control character", request{path: "/v1/table/a/describe?delimiter=%1F"}, 400, protocol.InvalidInput, "control character"},
		{"delimiter invalid UTF-8", request{path: "/v1/table/a/describe?delimiter=%FF"}, 400, protocol.InvalidInput, "UTF-8"},

		// JSON
		{"body cut off", request{path: "/v1/table/a/describe", body: `{"version":1`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"body of words", request{path: "/v1/table/a/describe", body: `hello`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"body of spaces", request{path: "/v1/table/a/describe", body: `   `}, 400, protocol.InvalidInput, "not valid JSON"},
		{"two bodies", request{path: "/v1/table/a/describe", body: `{}{}`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"comma at the end", request{path: "/v1/table/a/describe", body: `{"version":1,}`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"single quotes", request{path: "/v1/table/a/describe", body: `{'version':1}`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"NaN", request{path: "/v1/table/a/describe", body: `{"version":NaN}`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"leading zero", request{path: "/v1/table/a/describe", body: `{"version":01}`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"byte order mark", request{path: "/v1/table/a/describe", body: "\ufeff{}"}, 400, protocol.InvalidInput, "not valid JSON"},
		{"Arrow where JSON belongs", request{path: "/v1/table/a/describe", body: "\xff\xff\xff\xff\x78\x00"}, 400, protocol.InvalidInput, "UTF-8"},
		{"invalid UTF-8", request{path: "/v1/table/a/describe", body: "{\"tag\":\"\xff\"}"}, 400, protocol.InvalidInput, "UTF-8"},
		{"array", request{path: "/v1/table/a/describe", body: `[]`}, 400, protocol.InvalidInput, "JSON object"},
		{"string", request{path: "/v1/table/a/describe", body: `"x"`}, 400, protocol.InvalidInput, "JSON object"},
		{"two nulls", request{path: "/v1/table/a/describe", body: `null null`}, 400, protocol.InvalidInput, "not valid JSON"},
		{"too deep", request{path: "/v1/table/a/describe", body: `{"x":` + deep + `}`}, 400, protocol.InvalidInput, "64 levels"},
		{"far too deep", request{path: "/v1/table/a/query", body: `{"x":` + strings.Repeat("[", 8000)}, 400, protocol.InvalidInput, "not valid JSON"},
		{"field twice", request{path: "/v1/table/a/describe", body: `{"version":1,"version":2}`}, 400, protocol.InvalidInput, `"version" twice`},
		{"field twice, escaped", request{path: "/v1/table/a/describe", body: `{"tag":"a","\u0074ag":"b"}`}, 400, protocol.InvalidInput, `"tag" twice`},
		{"property twice", request{path: "/v1/namespace/a/create", body: `{"properties":{"a":"1","a":"2"}}`}, 400, protocol.InvalidInput, `"a" twice`},
		{"too large", request{path: "/v1/table/a/describe", body: `{"x":"` + strings.Repeat("x", 4096) + `"}`}, 413, protocol.InvalidInput, "4096 bytes"},
		{"query too large", request{path: "/v1/table/a/query", body: `{"x":"` + strings.Repeat("x", 8192) + `"}`}, 413, protocol.InvalidInput, "8192 bytes"},
		{"compressed body", request{path: "/v1/table/a/describe", body: `{}`, header: header("Content-Encoding", "gzip")}, 415, protocol.InvalidInput, "gzip"},

		// types
		{"version a string", request{path: "/v1/table/a/describe", body: `{"version":"1"}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version a fraction", request{path: "/v1/table/a/describe", body: `{"version":1.5}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version past int64", request{path: "/v1/table/a/describe", body: `{"version":9223372036854775808}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version far past int64", request{path: "/v1/table/a/describe", body: `{"version":1e300}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version true", request{path: "/v1/table/a/describe", body: `{"version":true}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version an object", request{path: "/v1/table/a/describe", body: `{"version":{}}`}, 400, protocol.InvalidInput, "version must be a 64-bit integer"},
		{"version negative", request{path: "/v1/table/a/describe", body: `{"version":-1}`}, 400, protocol.InvalidInput, "negative"},
		{"flag a string", request{path: "/v1/table/a/describe", body: `{"check_declared":"true"}`}, 400, protocol.InvalidInput, "check_declared must be true or false"},
		{"flag a number", request{path: "/v1/table/a/describe", body: `{"check_declared":1}`}, 400, protocol.InvalidInput, "check_declared must be true or false"},
		{"tag a number", request{path: "/v1/table/a/describe", body: `{"tag":1}`}, 400, protocol.InvalidInput, "tag must be a string"},
		{"tag and version", request{path: "/v1/table/a/describe", body: `{"tag":"x","version":1}`}, 400, protocol.InvalidInput, "tag cannot"},
		{"properties an array", request{path: "/v1/namespace/a/create", body: `{"properties":[]}`}, 400, protocol.InvalidInput, "properties must be an object"},
		{"property a number", request{path: "/v1/namespace/a/create", body: `{"properties":{"a":1}}`}, 400, protocol.InvalidInput, "properties"},
		{"context a string", request{path: "/v1/namespace/a/create", body: `{"context":"x"}`}, 400, protocol.InvalidInput, "context must be an object"},
		{"identity an array", request{path: "/v1/namespace/a/create", body: `{"identity":[]}`}, 400, protocol.InvalidInput, "identity must be an object"},
		{"limit in the body a string", request{path: "/v1/namespace/a/list", body: `{"limit":"1"}`}, 400, protocol.InvalidInput, "limit must be a 64-bit integer"},
		{"updates of numbers", request{path: "/v1/table/a/update", body: `{"updates":[["a",1]]}`}, 400, protocol.InvalidInput, "updates"},

		// required and contradicting fields
		{"register without location", request{path: "/v1/table/a/register", body: `{}`}, 400, protocol.InvalidInput, "location is required"},
		{"register without body", request{path: "/v1/table/a/register"}, 400, protocol.InvalidInput, "location is required"},
		{"delete without predicate", request{path: "/v1/table/a/delete", body: `{"predicate":""}`}, 400, protocol.InvalidInput, "predicate is required"},
		{"delete with null predicate", request{path: "/v1/table/a/delete", body: `{"predicate":null}`}, 400, protocol.InvalidInput, "predicate is required"},
		{"restore without version", request{path: "/v1/table/a/restore", body: `{"version":null}`}, 400, protocol.InvalidInput, "version is required"},
		{"restore of a negative version", request{path: "/v1/table/a/restore", body: `{"version":-3}`}, 400, protocol.InvalidInput, "negative"},
		{"explain without query", request{path: "/v1/table/a/explain_plan", body: `{}`}, 400, protocol.InvalidInput, "query is required"},
		{"explain of a bad query", request{path: "/v1/table/a/explain_plan", body: `{"query":{"k":-1}}`}, 400, protocol.InvalidInput, "k is -1"},
		{"update of nothing", request{path: "/v1/table/a/update", body: `{"updates":[]}`}, 400, protocol.InvalidInput, "updates is required"},
		{"update with half a pair", request{path: "/v1/table/a/update", body: `{"updates":[["a"]]}`}, 400, protocol.InvalidInput, "updates[0]"},
		{"update with three", request{path: "/v1/table/a/update", body: `{"updates":[["a","1"],["b","2","3"]]}`}, 400, protocol.InvalidInput, "updates[1]"},
		{"update of a column twice", request{path: "/v1/table/a/update", body: `{"updates":[["a","1"],["a","2"]]}`}, 400, protocol.InvalidInput, "twice"},

		// enumerations
		{"create mode unknown", request{path: "/v1/namespace/a/create", body: `{"mode":"Replace"}`}, 400, protocol.InvalidInput, "Create, ExistOk, Overwrite"},
		{"create mode a space", request{path: "/v1/namespace/a/create", body: `{"mode":" "}`}, 400, protocol.InvalidInput, "Create, ExistOk, Overwrite"},
		{"create mode a number", request{path: "/v1/namespace/a/create", body: `{"mode":1}`}, 400, protocol.InvalidInput, "mode"},
		{"create mode with spaces", request{path: "/v1/namespace/a/create", body: `{"mode":" Create"}`}, 400, protocol.InvalidInput, "not known"},
		{"drop mode of create", request{path: "/v1/namespace/a/drop", body: `{"mode":"Overwrite"}`}, 400, protocol.InvalidInput, "Fail, Skip"},
		{"drop behavior unknown", request{path: "/v1/namespace/a/drop", body: `{"behavior":"force"}`}, 400, protocol.InvalidInput, "Restrict, Cascade"},
		{"register mode ExistOk", request{path: "/v1/table/a/register", body: `{"location":"x","mode":"ExistOk"}`}, 400, protocol.InvalidInput, "Create, Overwrite"},
		{"table create mode unknown", request{path: "/v1/table/a/create?mode=replace"}, 400, protocol.InvalidInput, "Create, ExistOk, Overwrite"},
		{"insert mode unknown", request{path: "/v1/table/a/insert?mode=create"}, 400, protocol.InvalidInput, "Append, Overwrite"},
		{"distance type unknown", request{path: "/v1/table/a/query", body: `{"distance_type":"manhattan"}`}, 400, protocol.InvalidInput, "l2, cosine, dot, hamming"},

		// query parameters
		{"limit a word", request{method: "GET", path: "/v1/namespace/a/list?limit=ten"}, 400, protocol.InvalidInput, "limit"},
		{"limit a fraction", request{method: "GET", path: "/v1/namespace/a/list?limit=1.0"}, 400, protocol.InvalidInput, "limit"},
		{"limit empty", request{method: "GET", path: "/v1/namespace/a/list?limit="}, 400, protocol.InvalidInput, "limit"},
		{"limit past int64", request{method: "GET", path: "/v1/namespace/a/list?limit=9223372036854775808"}, 400, protocol.InvalidInput, "limit"},
		{"limit twice", request{method: "GET", path: "/v1/namespace/a/list?limit=1&limit=2"}, 400, protocol.InvalidInput, "2 times"},
		{"flag yes", request{method: "GET", path: "/v1/table?include_declared=yes"}, 400, protocol.InvalidInput, "true, false"},
		{"flag True", request{path: "/v1/table/a/version/list?descending=True"}, 400, protocol.InvalidInput, "true, false"},
		{"flag 1", request{path: "/v1/table/a/describe?with_table_uri=1"}, 400, protocol.InvalidInput, "true, false"},
		{"query string with bad percent", request{path: "/v1/table/a/describe?x=%zz"}, 400, protocol.InvalidInput, "query string"},
		{"query string with semicolon", request{path: "/v1/table/a/describe?a=1;b=2"}, 400, protocol.InvalidInput, "query string"},
		{"merge without on", request{path: "/v1/table/a/merge_insert"}, 400, protocol.InvalidInput, "on is required"},
		{"merge on nothing", request{path: "/v1/table/a/merge_insert?on="}, 400, protocol.InvalidInput, "empty column"},
		{"merge flag 0", request{path: "/v1/table/a/merge_insert?on=a&when_matched_update_all=0"}, 400, protocol.InvalidInput, "true, false"},
		{"merge timeout without unit", request{path: "/v1/table/a/merge_insert?on=a&timeout=30"}, 400, protocol.InvalidInput, "duration"},
		{"merge timeout negative", request{path: "/v1/table/a/merge_insert?on=a&timeout=-3s"}, 400, protocol.InvalidInput, "duration"},
		{"table properties no JSON", request{path: "/v1/table/a/create?properties=x"}, 400, protocol.InvalidInput, "properties"},
		{"table properties of numbers", request{path: "/v1/table/a/create?properties=%7B%22a%22:1%7D"}, 400, protocol.InvalidInput, "properties"},

		// headers
		{"timeout a word", request{path: "/v1/table/a/exists", header: header("X-Request-Timeout-Ms", "soon")}, 400, protocol.InvalidInput, "x-request-timeout-ms"},
		{"timeout zero", request{path: "/v1/table/a/exists", header: header("X-Request-Timeout-Ms", "0")}, 503, protocol.ServiceUnavailable, "time limit"},
		{"timeout negative", request{path: "/v1/table/a/exists", header: header("X-Request-Timeout-Ms", "-5")}, 400, protocol.InvalidInput, "x-request-timeout-ms"},

		// uploads
		{"upload too large", request{path: "/v1/table/a/insert", body: strings.Repeat("x", 4097)}, 413, protocol.InvalidInput, "4096 bytes"},
		{"upload compressed", request{path: "/v1/table/a/insert", body: "x", header: header("Content-Encoding", "br")}, 415, protocol.InvalidInput, "br"},

		// vectors and columns
		{"vector a number", request{path: "/v1/table/a/query", body: `{"vector":1}`}, 400, protocol.InvalidInput, "vector must be"},
		{"vector a string", request{path: "/v1/table/a/query", body: `{"vector":"[1]"}`}, 400, protocol.InvalidInput, "vector must be"},
		{"vector of strings", request{path: "/v1/table/a/query", body: `{"vector":["1"]}`}, 400, protocol.InvalidInput, "vector must hold only numbers"},
		{"vector with null", request{path: "/v1/table/a/query", body: `{"vector":[1,null]}`}, 400, protocol.InvalidInput, "null"},
		{"vector of mixed depth", request{path: "/v1/table/a/query", body: `{"vector":[[1],2]}`}, 400, protocol.InvalidInput, "same depth"},
		{"vector too deep", request{path: "/v1/table/a/query", body: `{"vector":[[[1]]]}`}, 400, protocol.InvalidInput, "same depth"},
		{"vector past float64", request{path: "/v1/table/a/query", body: `{"vector":[1e400]}`}, 400, protocol.InvalidInput, "vector"},
		{"vectors of two lengths", request{path: "/v1/table/a/query", body: `{"vector":[[1,2],[3]]}`}, 400, protocol.InvalidInput, "dimensions"},
		{"vectors of no length", request{path: "/v1/table/a/query", body: `{"vector":[[]]}`}, 400, protocol.InvalidInput, "dimensions"},
		{"single and multi vector", request{path: "/v1/table/a/query", body: `{"vector":{"single_vector":[1],"multi_vector":[[1]]}}`}, 400, protocol.InvalidInput, "give one"},
		{"single vector of vectors", request{path: "/v1/table/a/query", body: `{"vector":{"single_vector":[[1]]}}`}, 400, protocol.InvalidInput, "single_vector"},
		{"multi vector of numbers", request{path: "/v1/table/a/query", body: `{"vector":{"multi_vector":[1]}}`}, 400, protocol.InvalidInput, "multi_vector"},
		{"too many vectors", request{path: "/v1/table/a/query", body: `{"vector":[[1]` + strings.Repeat(",[1]", 256) + `]}`}, 400, protocol.InvalidInput, "at most 256"},
		{"rerank without a text", request{path: "/v1/table/a/query", body: `{"vector":[1],"rerank":{"method":"rrf"}}`}, 400, protocol.InvalidInput, "full_text_query"},
		{"rerank by another method", request{path: "/v1/table/a/query", body: `{"vector":[1],"full_text_query":{"query":"x"},"rerank":{"method":"linear"}}`}, 400, protocol.InvalidInput, "rerank.method"},
		{"k negative", request{path: "/v1/table/a/query", body: `{"k":-1}`}, 400, protocol.InvalidInput, "k is -1"},
		{"k past int64", request{path: "/v1/table/a/query", body: `{"k":9223372036854775808}`}, 400, protocol.InvalidInput, "k must be a 64-bit integer"},
		{"offset negative", request{path: "/v1/table/a/query", body: `{"offset":-1}`}, 400, protocol.InvalidInput, "offset"},
		{"nprobes too many", request{path: "/v1/table/a/query", body: `{"nprobes":4097}`}, 400, protocol.InvalidInput, "at most 4096"},
		{"nprobes bounds crossed", request{path: "/v1/table/a/query", body: `{"minimum_nprobes":3,"maximum_nprobes":2}`}, 400, protocol.InvalidInput, "maximum_nprobes"},
		{"ef too large", request{path: "/v1/table/a/query", body: `{"ef":10001}`}, 400, protocol.InvalidInput, "at most 10000"},
		{"refine factor negative", request{path: "/v1/table/a/query", body: `{"refine_factor":-1}`}, 400, protocol.InvalidInput, "refine_factor"},
		{"bound a string", request{path: "/v1/table/a/query", body: `{"lower_bound":"1"}`}, 400, protocol.InvalidInput, "lower_bound must be a number"},
		{"columns a string", request{path: "/v1/table/a/query", body: `{"columns":"a"}`}, 400, protocol.InvalidInput, "columns must be"},
		{"columns of numbers", request{path: "/v1/table/a/query", body: `{"columns":[1]}`}, 400, protocol.InvalidInput, "columns must be"},
		{"columns by name and alias", request{path: "/v1/table/a/query", body: `{"columns":{"column_names":["a"],"column_aliases":{"b":"c"}}}`}, 400, protocol.InvalidInput, "column_names and column_aliases"},
		{"columns with an empty name", request{path: "/v1/table/a/query", body: `{"columns":["a",""]}`}, 400, protocol.InvalidInput, "empty name"},
		{"alias of a number", request{path: "/v1/table/a/query", body: `{"columns":{"a":1}}`}, 400, protocol.InvalidInput, "alias"},
		{"alias of an object", request{path: "/v1/table/a/query", body: `{"columns":{"column_aliases":{"a":{}}}}`}, 400, protocol.InvalidInput, "alias"},
		{"filter an object", request{path: "/v1/table/a/query", body: `{"filter":{}}`}, 400, protocol.InvalidInput, "filter must be a string"},
		{"order by nothing", request{path: "/v1/table/a/query", body: `{"order_by":[{}]}`}, 400, protocol.InvalidInput, "order_by[0]"},
		{"text query a string", request{path: "/v1/table/a/query", body: `{"full_text_query":"x"}`}, 400, protocol.InvalidInput, "full_text_query must be"},
		{"text query of nothing", request{path: "/v1/table/a/query", body: `{"full_text_query":{}}`}, 400, protocol.InvalidInput, "full_text_query.query"},
		{"text query of two kinds", request{path: "/v1/table/a/query", body: `{"full_text_query":{"query":{"match":{"terms":"x"},"phrase":{"terms":"x"}}}}`}, 400, protocol.InvalidInput, "exactly one"},
		{"text query both ways", request{path: "/v1/table/a/query", body: `{"full_text_query":{"string_query":{"query":"x"},"structured_query":{"query":{}}}}`}, 400, protocol.InvalidInput, "give one"},
		{"text query nested wrong", request{path: "/v1/table/a/query", body: `{"full_text_query":{"query":{"boolean":{"must":[{}]}}}}`}, 400, protocol.InvalidInput, "exactly one"},
		{"boost without negative", request{path: "/v1/table/a/query", body: `{"full_text_query":{"query":{"boost":{"positive":{"match":{"terms":"x"}}}}}}`}, 400, protocol.InvalidInput, "boost needs"},

		// credentials
		{"no credentials", request{path: "/v1/table/a/exists", header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"no credentials and a bad body", request{path: "/v1/table/a/exists", body: `{`, header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"no credentials for an upload", request{path: "/v1/table/a/insert", header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"no credentials for what is not served", request{path: "/v1/table/a/rename", header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"wrong token", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer wrong")}, 401, protocol.Unauthenticated, "not known"},
		{"wrong scheme", request{path: "/v1/table/a/exists", header: header("Authorization", "Basic YTpi")}, 401, protocol.Unauthenticated, "Bearer"},
		{"no scheme", request{path: "/v1/table/a/exists", header: header("Authorization", testToken)}, 401, protocol.Unauthenticated, "Bearer"},
		{"scheme without token", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer ")}, 401, protocol.Unauthenticated, "no token"},
		{"two tokens joined", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer t0ken, Bearer t0ken")}, 400, protocol.InvalidInput, "more than once"},
		{"wrong API key", request{path: "/v1/table/a/exists", header: header("Authorization", "", "X-Api-Key", "wrong")}, 401, protocol.Unauthenticated, "not known"},
		{"good API key does not mend a wrong token", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer wrong", "X-Api-Key", testToken)}, 401, protocol.Unauthenticated, "not known"},
		{"good identity does not mend a wrong token", request{path: "/v1/table/a/exists", body: `{"identity":{"api_key":"t0ken"}}`, header: header("Authorization", "Bearer wrong")}, 401, protocol.Unauthenticated, "not known"},
		{"wrong identity", request{path: "/v1/table/a/exists", body: `{"identity":{"auth_token":"wrong"}}`, header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"good token as identity", request{path: "/v1/table/a/exists", body: `{"identity":{"auth_token":"t0ken"}}`, header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"good API key as identity", request{path: "/v1/table/a/exists", body: `{"identity":{"api_key":"t0ken"}}`, header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"token in the query string", request{path: "/v1/table/a/exists?access_token=t0ken", header: header("Authorization", "")}, 401, protocol.Unauthenticated, "no credentials"},
		{"reader writes", request{path: "/v1/table/a/drop", header: header("Authorization", "Bearer reader")}, 403, protocol.PermissionDenied, "tiltyard:write"},
		{"reader uploads", request{path: "/v1/table/a/insert", header: header("Authorization", "Bearer reader")}, 403, protocol.PermissionDenied, "tiltyard:write"},
		{"writer by identity writes", request{path: "/v1/table/a/drop", body: `{"identity":{"auth_token":"t0ken"}}`, header: header("Authorization", "Bearer reader")}, 403, protocol.PermissionDenied, "tiltyard:write"},
		{"guest reads", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer guest")}, 403, protocol.PermissionDenied, "tiltyard:read"},
		{"issuer down", request{path: "/v1/table/a/exists", header: header("Authorization", "Bearer later")}, 503, protocol.ServiceUnavailable, "later"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &service{}
			w := c.rq.do(t, newTestHandler(s))
			if w.Code != c.status {
				t.Fatalf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if s.calls != 0 {
				// A service reads the stream itself, so it may find the mistake only then.
				if _, isUpload := s.got.(interface{ RequestUpload() *protocol.Upload }); !isUpload {
					t.Errorf("the service was called")
				}
			}
			p := decodeProblem(t, w)
			if p.Code != int(c.code) || !strings.Contains(p.Error+" "+p.Detail, c.says) {
				t.Errorf("got code %d, %q, %q; want code %d that says %q", p.Code, p.Error, p.Detail, c.code, c.says)
			}
			checkErrorHeaders(t, w.Header(), c.status)
		})
	}
	t.Logf("%d cases", len(cases))
}

func checkErrorHeaders(t *testing.T, header http.Header, status int) {
	t.Helper()
	needed := map[int]string{
		http.StatusUnauthorized: "WWW-Authenticate", http.StatusForbidden: "WWW-Authenticate",
		http.StatusMethodNotAllowed: "Allow", http.StatusServiceUnavailable: "Retry-After",
	}
	if name, ok := needed[status]; ok && header.Get(name) == "" {
		t.Errorf("status %d comes without %s", status, name)
	}
}

func TestGoodCredentials(t *testing.T) {
	cases := []struct {
		name string
		rq   request
	}{
		{"bearer", request{path: "/v1/table/a/drop"}},
		{"bearer in small letters", request{path: "/v1/table/a/drop", header: map[string]string{"Authorization": "bearer " + testToken}}},
		{"API key", request{path: "/v1/table/a/drop", header: map[string]string{"Authorization": "", "X-Api-Key": testToken}}},
		{"bearer wins over API key", request{path: "/v1/table/a/drop", header: map[string]string{"X-Api-Key": "wrong"}}},
		{"header wins over identity", request{path: "/v1/table/a/drop", body: `{"identity":{"auth_token":"wrong"}}`}},
		{"reader reads", request{path: "/v1/table/a/exists", header: map[string]string{"Authorization": "Bearer reader"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := &service{}
			if w := c.rq.do(t, newTestHandler(s)); w.Code != http.StatusOK || s.calls != 1 {
				t.Fatalf("status %d, %d calls: %s", w.Code, s.calls, w.Body)
			}
			if id := s.got.(protocol.Request).RequestCommon().Identity; id != (protocol.Identity{}) {
				t.Errorf("the service sees the identity %+v, want none", id)
			}
		})
	}
}

func TestAuthorizationHeadersAreRefusedIfSeveral(t *testing.T) {
	_, _, err := headerToken(http.Header{"Authorization": {"Bearer a", "Bearer a"}})
	if protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("got %v, want InvalidInput", err)
	}
}

func FuzzPaths(f *testing.F) {
	for _, path := range []string{"v1/table/a$b/describe/", "v1/table/%24/query", "v1/namespace/a%2Fb+c/list", "v1/table/version/batch-create", "//v1///table"} {
		f.Add(path, "$")
	}
	rt := newRouter("", operations.All)
	f.Fuzz(func(t *testing.T, path, delimiter string) {
		m, err := rt.find(http.MethodPost, "/"+path)
		if err != nil {
			return
		}
		raw, ok := m.params["id"]
		if !ok {
			return
		}
		decoded, err := decodeSegment("id", raw)
		if err != nil {
			return
		}
		id, err := protocol.SplitID(decoded, delimiter)
		if err != nil {
			return
		}
		again, err := protocol.SplitID(protocol.JoinID(id, delimiter), delimiter)
		if err != nil || len(again) != len(id) {
			t.Fatalf("id %q of %q becomes %q (%v) when joined and split with %q", id, path, again, err, delimiter)
		}
	})
}

func FuzzQueryRequest(f *testing.F) {
	for _, body := range []string{
		`{"vector":[1.0,2e0],"k":9223372036854775807,"columns":["id"]}`,
		`{"vector":{"multi_vector":[[1],[2]]},"columns":{"column_aliases":{"b":"a+1","a":"b"}}}`,
		`{"full_text_query":{"structured_query":{"query":{"boolean":{"must":[{"match":{"terms":"x","fuzziness":null}}]}}}}}`,
		`{"a":{"a":[]},"b":"\u0061\"","c":-1.5e-3}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var req queryapi.Request
		if err := unmarshal(body, &req); err != nil {
			if protocol.CodeOf(err) != protocol.InvalidInput {
				t.Fatalf("unmarshal: %v, want InvalidInput", err)
			}
			return
		}
		if err := req.Validate(); err == nil {
			for _, v := range req.Vector.Vectors {
				if len(v) != len(req.Vector.Vectors[0]) || len(v) == 0 {
					t.Fatalf("vectors of unequal length passed: %v", req.Vector)
				}
			}
		}
	})
}
