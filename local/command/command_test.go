package command_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"tiltyard/local/command"
	"tiltyard/shared/service/all/alltest"
)

var update = flag.Bool("update", false, "write testdata again")

// setUp starts a server that the environment names, in a home and a folder of the test's own.
func setUp(t *testing.T) *alltest.Server { return serve(t, nil) }

// serve is setUp with something between the connections and the server.
func serve(t *testing.T, wrap func(http.Handler) http.Handler) *alltest.Server {
	t.Helper()
	server, err := alltest.Serve(wrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("TILTYARD_URL", server.URL)
	t.Setenv("TILTYARD_TOKEN", alltest.Token)
	return server
}

// tiltyard runs a command and returns what it writes and its exit code.
func tiltyard(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	root := &cobra.Command{Use: "tiltyard", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(&cobra.Command{Use: "version", Short: "Print", RunE: func(*cobra.Command, []string) error { return nil }})
	root.AddCommand(newDoctor())
	command.Add(root)
	var out, errs bytes.Buffer
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintln(&errs, "tiltyard:", command.Explain(err))
	}
	return out.String(), errs.String(), command.ExitCode(err)
}

// points writes an Arrow file of an id, a name and a vector.
func points(t *testing.T) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, row := range []string{`{"id":1,"name":"one","vector":[1,2]}`, `{"id":2,"name":"two\u001b[31m","vector":[3,4]}`} {
		if err := b.UnmarshalJSON([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "points.arrow")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
	if err == nil {
		err = errors.Join(w.Write(b.NewRecordBatch()), w.Close(), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// changing is what differs from run to run.
var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`memory://test/\S+`), "LOCATION"},
	{regexp.MustCompile(`http://127.0.0.1:\d+`), "URL"},
	{regexp.MustCompile(`/\S+/points.arrow`), "points.arrow"},
	{regexp.MustCompile(`"created_at":\d+`), `"created_at":0`},
	{regexp.MustCompile(`"created_at":"[^"]*"`), `"created_at":"TIME"`},
	{regexp.MustCompile(`_millis":\d+`), `_millis":0`},
	{regexp.MustCompile(`\b(\d{8}t\d{6}z)?[0-9a-f]{24}\b`), "DROP"},
	{regexp.MustCompile(`DROP  \d{4}\n`), "DROP  BYTES\n"}, // a manifest has an id, whose length differs
}

// A session's commands and their output are as in testdata/session.txt.
func TestSessionPrintsTheGoldenOutput(t *testing.T) {
	server := setUp(t)
	file := points(t)
	var got strings.Builder
	for _, line := range []struct{ stdin, line string }{
		{"", "ns create sales --property owner=me"},
		{"", "ns show sales"},
		{"", "ns list -o json"},
		{"", "insert sales/points " + file + " --create"},
		{"id,name\n3,three\n4,\n", "insert sales/points --format csv"},
		{`{"id":4,"name":"four","vector":[7,8]} {"id":5}`, "insert sales/points --format jsonl --merge-on id"},
		{`{"id":4} {"id":5,"name":"five"}`, "insert sales/points --format jsonl --merge-on id"},
		{`[{"id":4,"name":"four"}, {"id":5,"name":null}]`, "insert sales/points --format jsonl --merge-on id"},
		{`[{"id":2,"vector":[3.5,4]}`, "insert sales/points --format jsonl --merge-on id"},
		{`{"id":2,"vector":[3.5,4]}`, "insert sales/points --format jsonl --merge-on id"},
		{"", "insert sales/points " + file + " --create"},
		{"{}", "insert sales/none --format jsonl"},
		{"", "ns create sales"},
		{"", "query sales/points --order-by id"},
		{"", "query sales/points --where 'id > 2' --columns id,twice=id*2 --order-by -id -o json"},
		{"", "query sales/points --vector [3,3] --limit 1 --columns id,_distance"},
		{"", "table show sales/points"},
		{"", "table count sales/points --where 'id > 1'"},
		{"", "table list sales"},
		{"", "table list --all"},
		{"", "find point --namespace sales"},
		{"", "find me points --in all --column vector --property owner"},
		{"", "find --column ':fixed_size_list<*>[2]' --name p* -o json"},
		{"", "find --in body x"},
		{"", "table update sales/points name='x' --where 'id = 1'"},
		{"", "table delete sales/points --where 'id = 5'"},
		{"", "table add-columns sales/points half=id/2"},
		{"", "table drop-columns sales/points half"},
		{"", "tag create sales/points first 1"},
		{"", "tag list sales/points"},
		{"", "find first --in tag,name"},
		{"", "branch create sales/points try --from 1"},
		{"", "branch list sales/points -o json --timeout 1m"},
		{"", "log sales/points"},
		{"", "log sales/points --limit 2 -o json"},
		{"", "log sales/points --limit 0"},
		{"", "diff sales/points 1"},
		{"", "diff sales/points 2 4 -o json"},
		{"", "diff sales/points 1 --limit 1"},
		{"", "diff sales/points 1 99"},
		{"", "version restore sales/points 1"},
		{"", "index create sales/points id --type BTREE --wait"},
		{"", "index list sales/points"},
		{"", "index create sales/points id --type BTREE"},
		{"", "job list"},
		{"", "view create sales/two 'SELECT id FROM sales.points WHERE id = 2' --wait"},
		{"", "query sales/two"},
		{"", "view list sales"},
		{"", "maintain sales/points --compact --wait"},
		{"s3cret\n", "secret create sales/key"},
		{"", "secret list sales"},
		{"", "function create sales/loud testdata/loud.sql --input text:utf8? --output utf8 --wait"},
		{"", "function create sales/parts testdata/loud.sql --input text:utf8 --output a:utf8 --output b"},
		{"", "function create sales/loud testdata/session.txt --output utf8"},
		{"", "function create sales/loud testdata/loud.sql"},
		{"", "function list sales"},
		{"", "function show sales/loud"},
		{"", "function show sales/loud --version 2"},
		{"", "function drop sales/loud"},
		{"", "function drop sales/loud"},
		{"", "table storage sales/points --files 1"},
		{"", "table storage sales/points --files 0"},
		{"", "access sales/points --allowed=false"},
		{"", "access sales --namespace --subject ada --scope tiltyard:read"},
		{"", "access sales/points --group x"},
		{"", "table rename sales/points points"},
		{"", "table drop points"},
		{"", "table drop points"},
		{"", "table drop points --if-exists"},
		{"", "insert points --create --overwrite --format arrow"},
		{"", "ns drop sales"},
		{"", "ns drop sales --cascade"},
		{"", "ns create kept --property drop.retention=7d"},
		{"", "insert kept/points " + file + " --create"},
		{"", "table drop kept/points"},
		{"", "dropped list kept"},
		{"", "insert kept/points " + file + " --create"},
		{"", "undrop kept/points"},
		{"", "undrop kept/points --as again"},
		{"", "undrop kept/points"},
		{"", "table count again"},
		{"", "ns drop kept --cascade"},
		{"", "dropped list -o json"},
		{"", "undrop --namespace kept"},
		{"", "table list --all"},
		{"", "table drop kept/points"},
		{"", "dropped purge kept/points"},
		{"", "dropped purge kept/points --drop X"},
		{"", "dropped list"},
		{"", "insert kept/now " + file + " --create"},
		{"", "table drop kept/now --now"},
		{"", "undrop kept/now"},
		{"", "insert kept/later " + file + " --create"},
		{"", "table drop kept/later --now --keep-data"},
		{"", "table drop kept/later"},
		{"", "dropped list kept --sizes"},
		{"", "ns create long --property drop.retention=long"},
		{"", "tabel list"},
		{"", "table lst"},
		{"", "table create --help"},
		{"", "help table create"},
		{"", "table --no-such-flag"},
		{"", "table list none"},
		{"", "table list --no-such-flag"},
		{"", "table show"},
		{"", "table delete points"},
		{"", "query points --limit 0"},
		{"", "query points -o xml"},
		{"", "table list -o arrow"},
		{"id,nme\n", "insert points --format csv"},
		{alltest.Token + "\n", "login local --url " + server.URL},
		{"", "context list"},
		{"", "context use other"},
		{"wrong\n", "login other --url " + server.URL},
	} {
		stdout, stderr, code := tiltyard(t, line.stdin, split(line.line)...)
		fmt.Fprintf(&got, "$ tiltyard %s\n%s%s", line.line, stdout, stderr)
		if code != 0 {
			fmt.Fprintf(&got, "exit code %d\n", code)
		}
	}
	text := got.String()
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.name)
	}
	if strings.Contains(text, alltest.Token) || strings.Contains(text, "s3cret") {
		t.Error("a token or a secret is in the output")
	}
	const path = "testdata/session.txt"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("output (-want +got), renew with -update:\n%s", diff)
	}
}

// split splits a line at spaces outside of quotes.
func split(line string) []string {
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 && strings.HasPrefix(part, "x") { // name='x' is one word
			args[len(args)-1] += "'" + part + "'"
		} else if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

func TestQueriesAsArrow(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	stdout, stderr, code := tiltyard(t, "", "query", "p", "-o", "arrow")
	if code != 0 {
		t.Fatal(stderr)
	}
	// What a query writes, an insert reads.
	if _, stderr, code := tiltyard(t, stdout, "insert", "q", "--create", "--format", "arrow"); code != 0 {
		t.Fatal(stderr)
	}
	first, _, _ := tiltyard(t, "", "query", "p", "-o", "json", "--order-by", "id")
	second, _, _ := tiltyard(t, "", "query", "q", "-o", "json", "--order-by", "id")
	if first != second || !strings.Contains(first, `"id":1`) {
		t.Errorf("the rows are\n%s and then\n%s", first, second)
	}
}

func TestTokensAreKeptPrivate(t *testing.T) {
	server := setUp(t)
	if _, stderr, code := tiltyard(t, alltest.Token, "login", "local", "--url", server.URL); code != 0 {
		t.Fatal(stderr)
	}
	path := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "tiltyard", "contexts.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Skip("the system keeps configuration elsewhere")
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file is %v, want 0600", info.Mode())
	}
	t.Setenv("TILTYARD_URL", "")
	t.Setenv("TILTYARD_TOKEN", "")
	if _, stderr, code := tiltyard(t, "", "table", "list"); code != 0 {
		t.Errorf("with the stored context: %s", stderr)
	}
	// The token of a context goes to no other server.
	if _, _, code := tiltyard(t, "", "table", "list", "--url", server.URL); code != command.ExitDenied {
		t.Errorf("with another URL: exit code %d, want %d", code, command.ExitDenied)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := tiltyard(t, "", "table", "list"); code == 0 || !strings.Contains(stderr, "chmod 600") {
		t.Errorf("with a file that others can read: %d, %s", code, stderr)
	}
}

func TestTimeoutIsNamedByACommandThatTakesTooLong(t *testing.T) {
	setUp(t)
	stdout, stderr, code := tiltyard(t, "", "table", "list", "--timeout", "1ns")
	if code != command.ExitUnavailable || stdout != "" || !strings.Contains(stderr, "--timeout of 1ns") || strings.Contains(stderr, "tiltyard serve") {
		t.Errorf("exit code %d, %s%s; want %d and the timeout", code, stdout, stderr, command.ExitUnavailable)
	}
}

func TestHelpOfCommands(t *testing.T) {
	setUp(t)
	for _, args := range [][]string{{}, {"--help"}, {"-h"}, {"help"}, {"table"}, {"table", "--help"}, {"help", "table"}, {"table", "list", "--help"}, {"help", "table", "list"}} {
		stdout, stderr, code := tiltyard(t, "", args...)
		if code != 0 || !strings.Contains(stdout, "Usage:") {
			t.Errorf("%v: exit code %d, %s%s; want 0 and help", args, code, stdout, stderr)
		}
	}
}

func TestCommandWithoutServerNamesServe(t *testing.T) {
	setUp(t)
	_, stderr, code := tiltyard(t, "", "table", "list", "--url", "http://127.0.0.1:1", "--timeout", "100ms")
	if code != command.ExitUnavailable || !strings.Contains(stderr, "tiltyard serve") {
		t.Errorf("exit code %d, %s; want %d and what to do", code, stderr, command.ExitUnavailable)
	}
}
