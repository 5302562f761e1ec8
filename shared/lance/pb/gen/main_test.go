package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGeneratedCodeIsCurrent(t *testing.T) {
	structs, kinds, err := read("..")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(structs, kinds)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", output))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the generator writes; renew it with go generate ./shared/lance/pb", output)
	}
}

// generateFrom generates code of a file of package pb.
func generateFrom(t *testing.T, source string) (string, error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "source.go"), []byte("package pb\n\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	structs, kinds, err := read(folder)
	if err != nil {
		return "", err
	}
	code, err := generate(structs, kinds)
	return string(code), err
}

func TestFieldIsReadAndWrittenByItsType(t *testing.T) {
	for declared, want := range map[string][2]string{
		"uint64 `pb:\"3\"`":                   {"m.F = s.Uint64()", "e.Uint64(3, m.F)"},
		"uint32 `pb:\"3\"`":                   {"m.F = s.Uint32()", "e.Uint64(3, uint64(m.F))"},
		"string `pb:\"3\"`":                   {"m.F = s.String()", "e.String(3, m.F)"},
		"*string `pb:\"3\"`":                  {"m.F = ptr(s.String())", "e.AlwaysString(3, *m.F)"},
		"[]byte `pb:\"3\"`":                   {"m.F = s.Bytes()", "e.Bytes(3, m.F)"},
		"[]byte `pb:\"3,optional\"`":          {"m.F = present(s.Bytes())", "e.AlwaysBytes(3, m.F)"},
		"[]string `pb:\"3\"`":                 {"m.F = append(m.F, string(s.Bytes()))", "e.AlwaysBytes(3, []byte(text))"},
		"[]int32 `pb:\"3\"`":                  {"s.Varints(func(v uint64) { m.F = append(m.F, int32(v)) })", "Packed(e, 3, m.F)"},
		"map[string]string `pb:\"3\"`":        {"ScanMapEntry(s, &m.F)", "EncodeMap(e, 3, m.F)"},
		"*Inner `pb:\"3\"`":                   {"m.F = new(Inner)", "e.Message(3, m.F.Marshal)"},
		"[]Inner `pb:\"3\"`":                  {"values(s, &m.F)", "e.Message(3, m.F[i].Marshal)"},
		"[]*Inner `pb:\"3\"`":                 {"pointers(s, &m.F)", "e.Message(3, v.Marshal)"},
		"Inner `pb:\"3\"`":                    {"s.Message(m.F.Unmarshal)", "e.Message(3, m.F.Marshal)"},
		"Number `pb:\"3\"`":                   {"m.F = Number(s.Int32())", "e.Int32(3, int32(m.F))"},
		"uint64 `pb:\"3\"`\n\tUnknown []byte": {"m.Unknown", "m.Unknown"},
	} {
		code, err := generateFrom(t, "//pb:message\ntype M struct {\n\tF "+declared+"\n}\n\n//pb:message\ntype Inner struct {\n\tN uint64 `pb:\"1\"`\n}\n\ntype Number int32\n")
		if err != nil {
			t.Errorf("%s: %v", declared, err)
			continue
		}
		reader, writer, ok := strings.Cut(code, "func (m *M) Marshal(")
		writer, _, _ = strings.Cut(writer, "\n}\n")
		if !ok || !strings.Contains(reader, want[0]) || !strings.Contains(writer, want[1]) {
			t.Errorf("%s: want a reader with %q and a writer with %q in\n%s", declared, want[0], want[1], code)
		}
	}
}

func TestHalfOfAMessageIsGeneratedOnDemand(t *testing.T) {
	for directive, want := range map[string][2]bool{"message": {true, true}, "message read": {true, false}, "message write": {false, true}} {
		code, err := generateFrom(t, "//pb:"+directive+"\ntype M struct {\n\tF uint64 `pb:\"1\"`\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		got := [2]bool{strings.Contains(code, "func (m *M) Unmarshal("), strings.Contains(code, "func (m *M) Marshal(")}
		if got != want {
			t.Errorf("%s: got a reader and a writer: %v, want %v", directive, got, want)
		}
	}
}

func TestFieldNeedsItsNumber(t *testing.T) {
	for _, tag := range []string{"", "`json:\"f\"`"} {
		if _, err := generateFrom(t, "//pb:message\ntype M struct {\n\tF uint64 "+tag+"\n}\n"); err == nil || !strings.Contains(err.Error(), "M.F") {
			t.Errorf("tag %q: got error %v, want one that names M.F", tag, err)
		}
	}
}
