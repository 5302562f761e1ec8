package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/local/server/prometheus"
	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/service/all"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/rangecache"
	"tiltyard/shared/tables"
)

var update = flag.Bool("update", false, "write the tables of docs again")

func TestDocsListTheOperations(t *testing.T) {
	checkSection(t, "../../docs/api.md", "operations", listOperations(t))
}

func TestDocsListTheSettings(t *testing.T) {
	checkSection(t, "../../docs/settings.md", "settings", settings())
}

func TestDocsListTheLimits(t *testing.T) {
	checkSection(t, "../../docs/api.md", "limits", limits())
}

func TestDocsListTheIgnoredFields(t *testing.T) {
	checkSection(t, "../../docs/api.md", "ignored fields", ignoredFields())
}

func TestDocsListTheCommands(t *testing.T) {
	page := readPage(t, "../../docs/cli.md")
	for _, command := range newCommand().Commands() {
		row := regexp.MustCompile("(?m)^\\|[^|]*`" + command.Name() + "`[^|]*\\|")
		if !row.MatchString(page) {
			t.Errorf("docs/cli.md has no row for the command %s", command.Name())
		}
	}
}

func TestDocsListTheMetrics(t *testing.T) {
	page := readPage(t, "../../docs/settings.md")
	var metrics strings.Builder
	prometheus.New("", time.Now(), memory.NewBudget(1, 1), func() (none dataset.CacheUsage) { return none }, (*rangecache.Cache)(nil).Usage).Write(&metrics)
	families := regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(metrics.String(), -1)
	if len(families) < 10 {
		t.Errorf("there are %d metrics, want more", len(families))
	}
	for _, family := range families {
		if !strings.Contains(page, "`"+family[1]+"`") {
			t.Errorf("docs/settings.md does not have the metric %s", family[1])
		}
	}
}

// A link leads to a file that is there, and to a heading of it, and each page and picture of docs is linked from a page.
func TestLinksOfDocsLeadToPages(t *testing.T) {
	pages := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^()\s]+)\)`)
	linked := map[string]bool{pages[0]: true}
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			file, heading, _ := strings.Cut(match[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			to := page
			if file != "" {
				to = filepath.Join(filepath.Dir(page), file)
				linked[to] = true
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s leads to %s, which is not there", page, match[1])
			} else if heading != "" && !slices.Contains(headings(readPage(t, to)), heading) {
				t.Errorf("%s leads to %s, which has no such heading", page, match[1])
			}
		}
	}
	pictures, err := filepath.Glob("../../docs/*/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(pages, pictures...) {
		if !linked[file] {
			t.Errorf("no page leads to %s", file)
		}
	}
}

// headings returns the headings of a page as links name them.
func headings(page string) (names []string) {
	for _, match := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(page, -1) {
		name := strings.ReplaceAll(strings.ToLower(match[1]), " ", "-")
		names = append(names, regexp.MustCompile(`[^\w-]`).ReplaceAllString(name, ""))
	}
	return names
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkSection compares the text between two markers of a page with the text that should be there.
func checkSection(t *testing.T, page, name, want string) {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, hasBegin := strings.Cut(readPage(t, page), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no section between %q and %q", page, begin, end)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in %s (-want +got), renew with go test ./local/server -run Docs -update:\n%s", name, page, diff)
	}
}

// ignoredFields lists the fields of requests without an effect, with a row for the fields of an operation that share a
// reason.
func ignoredFields() string {
	text := "| operation | fields | what a field does elsewhere |\n| --- | --- | --- |\n"
	for rest := operations.Ignored; len(rest) > 0; {
		first, names := rest[0], []string(nil)
		for len(rest) > 0 && rest[0].Operation == first.Operation && rest[0].Reason == first.Reason {
			names, rest = append(names, "`"+rest[0].Field+"`"), rest[1:]
		}
		text += fmt.Sprintf("| %s | %s | %s |\n", first.Operation, strings.Join(names, ", "), first.Reason)
	}
	return text
}

// listOperations lists what is served, and names what is not, group by group.
func listOperations(t *testing.T) string {
	serves := prober(t)
	var groups []string
	served, missing := map[string][]string{}, map[string][]string{}
	for _, op := range operations.All {
		if len(served[op.Function])+len(missing[op.Function]) == 0 {
			groups = append(groups, op.Function)
		}
		if serves(op) {
			row := fmt.Sprintf("| %s | %s | `%s %s` | %s |\n", op.Function, op.Name, strings.Join(op.Methods, ", "), op.Path, op.Access)
			served[op.Function] = append(served[op.Function], row)
		} else {
			missing[op.Function] = append(missing[op.Function], op.Name)
		}
	}
	var b strings.Builder
	b.WriteString("| group | operation | request | access |\n| --- | --- | --- | --- |\n")
	for _, group := range groups {
		b.WriteString(strings.Join(served[group], ""))
	}
	if len(missing) > 0 {
		b.WriteString("\nNot yet, answered with 501 Unsupported:\n\n")
	}
	for _, group := range groups {
		if len(missing[group]) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", group, strings.Join(missing[group], ", "))
		}
	}
	return b.String()
}

// prober asks the handler of all services which operations it serves.
func prober(t *testing.T) func(protocol.Operation) bool {
	t.Helper()
	const token = "t"
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://docs", Store: memstore.New()})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewStatic("test", token)
	if err != nil {
		t.Fatal(err)
	}
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now, Queue: new(memqueue.Queue), EventSource: "urn:docs"}, arrowipc.Limits{})
	handler := httpapi.Handler(routes, httpapi.Options{Verifier: verifier})
	parameter := regexp.MustCompile(`\{\w+\}`)
	return func(op protocol.Operation) bool {
		target := parameter.ReplaceAllString(op.Path, "1")
		r := httptest.NewRequest(op.Methods[0], target, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code != http.StatusNotImplemented
	}
}

func settings() string {
	var b strings.Builder
	b.WriteString("| flag | variable | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, s := range boot.Settings {
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", s.Name, s.Variable(), defaults(s), s.Help)
	}
	return b.String()
}

// limits lists the limits of requests that no setting changes.
func limits() string {
	var b strings.Builder
	b.WriteString("| of | at most |\n| --- | --- |\n")
	for _, row := range []struct {
		of, format string
		values     []any
	}{
		{"an id", "%d parts of %d bytes", []any{protocol.MaxIDLevels, protocol.MaxIDComponentBytes}},
		{"properties of a namespace or a table", "%d entries, %d bytes for a key or a value", []any{protocol.MaxProperties, protocol.MaxPropertyBytes}},
		{"a filter of a query", "%d bytes", []any{protocol.MaxFilterBytes}},
		{"columns that a query names", "%d", []any{queryapi.MaxColumns}},
		{"vectors of a query", "%d vectors of %d dimensions", []any{queryapi.MaxVectors, queryapi.MaxVectorDimensions}},
		{"fuzzy words of a text query, and these times `max_expansions`", "%d, %d", []any{fulltext.MaxFuzzyWords, fulltext.MaxFuzzyExpansions}},
		{"`nprobes`, `ef`, `refine_factor`", "%d, %d, %d", []any{queryapi.MaxNProbes, queryapi.MaxEF, queryapi.MaxRefineFactor}},
		{"a secret", "%d bytes, %d for its name", []any{secretapi.MaxBytes, secretapi.MaxNameBytes}},
		{"a function", "%d parameters or outputs, %d bytes without its content, %d for its name",
			[]any{functionapi.MaxFields, functionapi.MaxDefinition, functionapi.MaxNameBytes}},
	} {
		fmt.Fprintf(&b, "| %s | "+row.format+" |\n", append([]any{row.of}, row.values...)...)
	}
	return b.String()
}

// defaults returns the text of a setting's default.
func defaults(s boot.Setting) string {
	switch {
	case s.Local == "" && s.Default == "":
		return ""
	case s.Local == "":
		return "`" + s.Default + "`"
	case s.Default == "":
		return "`" + s.Local + "`"
	}
	return "`" + s.Local + "`; functions: `" + s.Default + "`"
}
