package all_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unsupported has, for each file that answers that something is not supported, words about that from the
// page docs/unsupported.md. Files that only pass such errors on have none.
var unsupported = map[string]string{
	"client/error.go":                 "",
	"engine/fill/fill.go":             "those of Python, and envelopes",
	"engine/computed/blobinputs.go":   "places that the server may not read",
	"engine/indexbuild/indexbuild.go": "types that no job builds",
	"engine/computed/application.go":  "those of Python, and envelopes",
	"engine/computed/bindings.go":     "blobs as outputs",
	"engine/computed/column.go":       "blobs as outputs",
	"engine/computed/declaration.go":  "neither SQL nor a function",
	"engine/engine.go":                "newer than the service",
	"engine/apierror/apierror.go":     "not evaluated here",
	"engine/wal/wal.go":               "reads of it without `use_lsm`",
	"engine/merge/keys.go":            "keys of nested types",
	"engine/merge/members.go":         "some members only of structs in maps",
	"engine/query/part.go":            "parts of queries in another format",
	"engine/query/probeparts.go":      "parts of queries in another format",
	"engine/query/text.go":            "tokenizers of native Lance",
	"engine/query/wordparts.go":       "parts of queries in another format",
	"engine/update.go":                "a part of a column; columns of blobs",
	"boot/executors.go":               "those of Python, and envelopes",
	"engine/udf/executor/match.go":    "those of Python, and envelopes",
	"engine/udf/envelope.go":          "those of Python, and envelopes",
	"engine/udf/wasm/runtime.go":      "WebAssembly with dictionaries",
	"index/fts/build.go":              "elements of lists in lists",
	"http/httpapi/handler.go":         "Every operation of the [API](api.md) has a handler",
	"http/httpapi/problem.go":         "",
	"jobs/poll.go":                    "",
	"jobs/stages.go":                  "",

	"protocol/queryapi/blob.go":             "values by descriptors",
	"protocol/schemaapi/columns.go":         "altered virtual columns",
	"protocol/dataapi/lsm.go":               "`set_lsm_write_spec`",
	"protocol/schemaapi/functionbinding.go": "uses in a later format",
	"protocol/schema.go":                    "types without a JSON form",
	"protocol/typename.go":                  "types without a JSON form",

	"service/schema/backfill.go":      "without workers",
	"service/schema/function.go":      "constants of some types",
	"service/event/list.go":           "events where none are announced",
	"service/function/create.go":      "without workers",
	"service/job/resume.go":           "without workers",
	"service/sql/execute.go":          "descriptions of statements that change something",
	"service/secret/create.go":        "new values without keys",
	"service/table/maintain.go":       "without workers",
	"service/version/compare.go":      "comparisons by rows",
	"service/view/service.go":         "without workers",
	"engine/view/materialize/call.go": "blobs as outputs",
	"engine/view/view.go":             "unknown fields of `source_query`",
	"work/udfcall/udfcall.go":         "functions whose secrets the workers cannot open",
}

// What is refused as not supported stands in the documentation with its reason.
func TestDocOfWhatIsUnsupported(t *testing.T) {
	text, err := os.ReadFile("../../../docs/unsupported.md")
	if err != nil {
		t.Fatal(err)
	}
	section := string(text)
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !strings.Contains(string(source), "protocol.Unsupported,") && !strings.Contains(string(source), "protocol.Unsupported\n") && !strings.Contains(string(source), "(Unsupported, ") && !strings.Contains(string(source), "Code: Unsupported,") && !strings.Contains(string(source), "Unbuilt: true") {
			return err
		}
		words, listed := unsupported[filepath.ToSlash(name)]
		if seen[filepath.ToSlash(name)] = true; !listed || !strings.Contains(section, words) {
			t.Errorf("%s answers that something is not supported; say in docs/unsupported.md what and why, and name the words here", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range unsupported {
		if !seen[name] {
			t.Errorf("%s refuses nothing as not supported any more", name)
		}
	}
}
