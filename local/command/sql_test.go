package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSQLRunsStatementsWithParameters(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	file := filepath.Join(t.TempDir(), "vector.json")
	if err := os.WriteFile(file, []byte("[1, 2]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   string
		args []string
		want string
	}{
		{"", []string{"SELECT id FROM p WHERE id >= $least ORDER BY id DESC LIMIT 1", "--param", "least=2", "-o", "json"}, `{"id":2}`},
		{"", []string{"SELECT name FROM p WHERE name = $n", "--param", "n=one", "-o", "json"}, `{"name":"one"}`},
		{"", []string{`SELECT name FROM p WHERE name = $n`, "--param", `$n="one"`, "-o", "json"}, `{"name":"one"}`},
		{"", []string{"SELECT id FROM p ORDER BY distance(vector, $q) LIMIT 1", "--param", "q=@" + file, "-o", "json"}, `{"id":1}`},
		{"SELECT count(*) AS n\nFROM p;\n", []string{"-", "-o", "json"}, `{"n":2}`},
		{"", []string{"SELECT id AS number FROM p ORDER BY id"}, "number\n1\n2"},
		{"", []string{"INSERT INTO p (id, name) VALUES (7, 'seven'), (8, $n)", "--param", "n=eight"}, "2 rows\n"},
		{"", []string{"DELETE FROM p WHERE id = 7"}, "1 row\n"},
		{"", []string{"CREATE TABLE q (id int)"}, "created table q\n"},
		{"", []string{"OPTIMIZE TABLE p"}, "job wait"},
		{"", []string{"SHOW TABLES"}, "name\np\nq"},
		{"", []string{"DROP TABLE q", "-o", "json"}, `{"status":"dropped table q"}`},
		{"", []string{"EXPLAIN SELECT id FROM p WHERE id = 2", "-o", "json"}, "id = "},
	} {
		stdout, stderr, code := tiltyard(t, c.in, append([]string{"sql"}, c.args...)...)
		if code != 0 || !strings.Contains(stdout, c.want) {
			t.Errorf("%q: got exit code %d and\n%s%s\nwant %s", c.args, code, stdout, stderr, c.want)
		}
	}
}

func TestSQLNamesTheMistake(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	none := filepath.Join(t.TempDir(), "none.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"SELECT nope FROM p"}, 3, "nope"},
		{[]string{"SELECT id FROM p EXCEPT ALL SELECT 1"}, 6, "EXCEPT"},
		{[]string{"SELECT id FROM p", "--param", "x"}, 2, "NAME=VALUE"},
		{[]string{"SELECT id FROM p", "--param", "x=1", "--param", "x=2"}, 2, "twice"},
		{[]string{"SELECT id FROM p", "--param", "x=@" + none}, 2, "--param x"},
		{nil, 2, "STATEMENT"},
	} {
		if _, stderr, code := tiltyard(t, "", append([]string{"sql"}, c.args...)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: got exit code %d and %q, want %d and a text with %q", c.args, code, stderr, c.code, c.want)
		}
	}
}
