package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/local/command"
	"tiltyard/shared/service/all/alltest"
)

// must runs a command that has to succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := tiltyard(t, "", args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d, %s", args, code, stderr)
	}
	return stdout
}

// rowsOf returns the rows of a table in a fixed order.
func rowsOf(t *testing.T, table string) string {
	return must(t, "query", table, "-o", "json", "--order-by", "id")
}

func TestCopyBetweenTablesServersAndFiles(t *testing.T) {
	server := setUp(t)
	must(t, "insert", "p", points(t), "--create")
	must(t, "ns", "create", "archive")
	if _, stderr, code := tiltyard(t, alltest.Token, "login", "work", "--url", server.URL); code != 0 {
		t.Fatal(stderr)
	}
	folder := t.TempDir()
	want := rowsOf(t, "p")
	for _, one := range []struct{ from, to, table string }{
		{"p", "q", "q"},
		{"work:p", "work:archive/p", "archive/p"},
		{"p", filepath.Join(folder, "p.arrow"), ""},
		{filepath.Join(folder, "p.arrow"), "work:r", "r"},
		{"archive/p", folder, ""},
		{filepath.Join(folder, "p.parquet"), "s", "s"},
		{"p", filepath.Join(folder, "p.csv"), ""},
		{filepath.Join(folder, "p.csv"), "u", "u"},
	} {
		must(t, "cp", one.from, one.to)
		if one.table != "" && rowsOf(t, one.table) != want {
			t.Errorf("cp %s %s: the rows are\n%s, want\n%s", one.from, one.to, rowsOf(t, one.table), want)
		}
		if _, stderr, code := tiltyard(t, "", "cp", one.from, one.to); code != command.ExitConflict || !strings.Contains(stderr, "--overwrite") {
			t.Errorf("cp %s %s again: exit code %d, %s", one.from, one.to, code, stderr)
		}
		must(t, "cp", one.from, one.to, "--overwrite")
		if one.table != "" && rowsOf(t, one.table) != want {
			t.Errorf("cp %s %s --overwrite: the rows are\n%s", one.from, one.to, rowsOf(t, one.table))
		}
	}
	must(t, "cp", "p", "q", "--append", "--version", "1")
	if got := must(t, "table", "count", "q"); got != "rows  4\n" {
		t.Errorf("after --append: %s", got)
	}
}

func TestCopyThatFailsLeavesNothing(t *testing.T) {
	setUp(t)
	must(t, "insert", "p", points(t), "--create")
	folder := t.TempDir()
	bad := filepath.Join(folder, "bad.csv")
	if err := os.WriteFile(bad, []byte("id\n"+strings.Repeat("1\n", 10_000)+"x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{bad, "new"}, "line 10002: column id", command.ExitFailed},
		{[]string{bad, "p", "--append"}, "line 10002: column id", command.ExitFailed},
		{[]string{bad, "p"}, "--append", command.ExitConflict},
		{[]string{"none", "new"}, "does not exist", command.ExitNotFound},
		{[]string{"p", "none/new"}, "none", command.ExitNotFound},
		{[]string{"p", "other:new"}, `no context "other"`, command.ExitUsage},
		{[]string{bad, filepath.Join(folder, "new.csv")}, "one of them must be a table", command.ExitUsage},
		{[]string{"p", filepath.Join(folder, "new")}, "does not say a format", command.ExitUsage},
		{[]string{"p", filepath.Join(folder, "new.csv"), "--append"}, "--append is for tables", command.ExitUsage},
		{[]string{"p", "q", "--append", "--overwrite"}, "exclude each other", command.ExitUsage},
		{[]string{bad, "new", "--version", "1"}, "is a file", command.ExitUsage},
	} {
		_, stderr, code := tiltyard(t, "", append([]string{"cp"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %s; want %d, %s", c.args, code, stderr, c.code, c.want)
		}
	}
	if got := must(t, "table", "list", "--all"); got != "NAME\np\n" {
		t.Errorf("the tables are %s", got)
	}
	if got := must(t, "table", "count", "p"); got != "rows  2\n" {
		t.Errorf("the table has %s", got)
	}
	if got := must(t, "dropped", "list"); strings.Contains(got, "copy") {
		t.Errorf("dropped tables are %s", got)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

func TestMoveRenamesWithinAServer(t *testing.T) {
	server := setUp(t)
	must(t, "insert", "p", points(t), "--create")
	must(t, "ns", "create", "archive")
	must(t, "mv", "p", "archive/q")
	if got := must(t, "table", "count", "archive/q"); got != "rows  2\n" {
		t.Errorf("the table has %s", got)
	}
	if _, stderr, code := tiltyard(t, alltest.Token, "login", "work", "--url", server.URL); code != 0 {
		t.Fatal(stderr)
	}
	must(t, "mv", "work:archive/q", "p") // the same server
	t.Setenv("TILTYARD_URL", "http://127.0.0.1:1")
	for _, to := range []string{"q", "q.parquet"} {
		if _, stderr, code := tiltyard(t, "", "mv", "work:p", to); code != command.ExitUsage || !strings.Contains(stderr, "tiltyard cp work:p "+to) {
			t.Errorf("mv to %s: exit code %d, %s", to, code, stderr)
		}
	}
}
