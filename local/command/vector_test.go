package command_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tiltyard/local/command"
)

// npy returns a .npy file.
func npy(t *testing.T, major byte, header string, items any) string {
	t.Helper()
	b := bytes.NewBufferString("\x93NUMPY")
	b.Write([]byte{major, 0})
	var length any = uint16(len(header))
	if major > 1 {
		length = uint32(len(header))
	}
	for _, part := range []any{length, []byte(header), items} {
		if err := binary.Write(b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "v.npy")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQueryTakesVectorsOfFilesAndRows(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	file := filepath.Join(t.TempDir(), "v.json")
	if err := os.WriteFile(file, []byte(" [3, 3]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stdin string
		args  []string
	}{
		"argument": {"", []string{"--vector", "[3,3]"}},
		"file":     {"", []string{"--vector", "@" + file}},
		"stdin":    {"[3,3]", []string{"--vector", "-"}},
		"float32":  {"", []string{"--vector", "@" + npy(t, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", []float32{3, 3})}},
		"float64":  {"", []string{"--vector", "@" + npy(t, 2, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", []float64{3, 3})}},
		"row":      {"", []string{"--like", "id = 2"}},
		"column":   {"", []string{"--like", "id = 2", "--vector-column", "vector"}},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := tiltyard(t, c.stdin, append([]string{"query", "p", "-o", "json", "--limit", "1", "--columns", "id"}, c.args...)...)
			if code != 0 || !strings.Contains(stdout, `"id":2`) {
				t.Errorf("exit code %d, %s%s", code, stdout, stderr)
			}
		})
	}
}

func TestQueryRefusesOtherVectors(t *testing.T) {
	setUp(t)
	tiltyard(t, "", "insert", "p", points(t), "--create")
	tiltyard(t, `{"id":3}`, "insert", "p", "--format", "jsonl")
	tiltyard(t, "a\n1\n", "insert", "plain", "--create", "--format", "csv")
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"missing file":   {[]string{"p", "--vector", "@/no/such"}, "no such file", command.ExitUsage},
		"no JSON":        {[]string{"p", "--vector", "1,2"}, "JSON array", command.ExitUsage},
		"two dimensions": {[]string{"p", "--vector", "@" + npy(t, 1, "{'descr': '<f4', 'shape': (1, 2), }", []float32{3, 3})}, "one dimension", command.ExitUsage},
		"integers":       {[]string{"p", "--vector", "@" + npy(t, 1, "{'descr': '<i8', 'shape': (2,), }", []int64{3, 3})}, `"<i8"`, command.ExitUsage},
		"too short":      {[]string{"p", "--vector", "@" + npy(t, 3, "{'descr': '<f4', 'shape': (3,), }", []float32{3, 3})}, "8 bytes", command.ExitUsage},
		"version":        {[]string{"p", "--vector", "@" + npy(t, 4, "", []float32{})}, "version 4", command.ExitUsage},
		"both":           {[]string{"p", "--vector", "[1,2]", "--like", "id = 1"}, "exclude each other", command.ExitUsage},
		"no row":         {[]string{"p", "--like", "id = 9"}, "selects no row", command.ExitRefused},
		"several":        {[]string{"p", "--like", "id < 3"}, "selects several rows", command.ExitUsage},
		"null":           {[]string{"p", "--like", "id = 3"}, "the vector is null", command.ExitFailed},
		"no vectors":     {[]string{"plain", "--like", "a = 1"}, "column of vectors", command.ExitUsage},
		"no column":      {[]string{"p", "--like", "b = 1"}, "--like", command.ExitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := tiltyard(t, "", append([]string{"query"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, %s; want %d, %s", code, stderr, c.code, c.want)
			}
		})
	}
}
