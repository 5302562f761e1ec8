package main

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/auth"
	"tiltyard/shared/boot"
	"tiltyard/shared/httpapi"
	"tiltyard/shared/job/memqueue"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
	"tiltyard/shared/protocol"
	"tiltyard/shared/service/all"
	"tiltyard/shared/tables"
)

var update = flag.Bool("update", false, "write the tables of docs again")

func TestDocsListTheOperations(t *testing.T) {
	checkSection(t, "../../docs/api.md", "operations", operations(t))
}

func TestDocsListTheSettings(t *testing.T) {
	checkSection(t, "../../docs/settings.md", "settings", settings())
}

// checkSection compares the text between two markers of a page with the text that should be there.
func checkSection(t *testing.T, page, name, want string) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- %s -->\n", name), fmt.Sprintf("<!-- end of %s -->\n", name)
	before, rest, hasBegin := strings.Cut(string(data), begin)
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

// operations lists what is served, and names what is not, group by group.
func operations(t *testing.T) string {
	serves := prober(t)
	var groups []protocol.Group
	served, missing := map[protocol.Group][]string{}, map[protocol.Group][]string{}
	for _, op := range protocol.Operations {
		if len(served[op.Group])+len(missing[op.Group]) == 0 {
			groups = append(groups, op.Group)
		}
		if serves(op) {
			row := fmt.Sprintf("| %s | %s | `%s %s` | %s |\n", op.Group, op.Name, strings.Join(op.Methods, ", "), op.Path, op.Access)
			served[op.Group] = append(served[op.Group], row)
		} else {
			missing[op.Group] = append(missing[op.Group], op.Name)
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
	routes := all.Routes(tables.Stores{Objects: roots, Now: time.Now, Queue: new(memqueue.Queue)}, arrowipc.Limits{})
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
