package wasm_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm"
)

// guests builds the examples of the Go kit, once.
var guests = sync.OnceValues(func() (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "guests")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	modules := map[string][]byte{}
	for _, name := range []string{"upper", "words"} {
		path := filepath.Join(folder, name)
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-buildmode=c-shared", "-o", path, "tiltyard/local/guest/go/"+name)
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, err
		}
		if modules[name], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return modules, nil
})

func guest(t *testing.T, name string) []byte {
	t.Helper()
	modules, err := guests()
	if err != nil {
		t.Fatalf("build the examples: %v", err)
	}
	return modules[name]
}

func TestFunctionsInGo(t *testing.T) {
	f := open(t, newRuntime(t, wasm.Limits{}), spec(guest(t, "upper"), word, word))
	got, err := f.Call(t.Context(), rows(t, word, `["a",null,"fail","ärger","panic","","panic"]`))
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, got.Outputs.Column(0)); text != `["A",null,null,"ÄRGER",null,"",null]` {
		t.Errorf("outputs %s", text)
	}
	want := []udf.Failure{
		{Row: 2, Type: "Error", Message: "the text asks for it"}, {Row: 4, Type: "Panic", Message: "the text asks for it"}, {Row: 6, Type: "Panic", Message: "the text asks for it"},
	}
	if len(got.Failed) != len(want) {
		t.Fatalf("failed: %+v", got.Failed)
	}
	for i := range want {
		if got.Failed[i] != want[i] {
			t.Errorf("failed: %+v, want %+v", got.Failed[i], want[i])
		}
	}
	large := make([]string, 4096) // enough for its collector of garbage to run
	for i := range large {
		large[i] = strings.Repeat("abc", i%1000)
	}
	text, err := json.Marshal(large)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := f.Call(t.Context(), rows(t, word, string(text)))
		if err != nil || len(got.Failed) != 0 || textOf(t, got.Outputs.Column(0)) != strings.ToUpper(string(text)) {
			t.Fatalf("a large batch: %v, %v", got.Failed, err)
		}
	}
	if _, err := newRuntime(t, wasm.Limits{}).Open(t.Context(), spec(guest(t, "upper"), word, number)); err == nil || !strings.Contains(err.Error(), "output y is of type utf8, not int64") {
		t.Errorf("declared as int64: %v", err)
	}
}

func TestFunctionsOfSeveralOutputs(t *testing.T) {
	s := spec(guest(t, "words"), word, word)
	s.Outputs = []arrow.Field{{Name: "words", Type: arrow.ListOf(word), Nullable: true}, {Name: "vector", Type: arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), Nullable: true}}
	s.Environment = map[string]string{"LENGTH": "3"}
	f := open(t, newRuntime(t, wasm.Limits{}), s)
	got, err := f.Call(t.Context(), rows(t, word, `["To be",null,"to BE", ""]`))
	if err != nil {
		t.Fatal(err)
	}
	words, vectors := got.Outputs.Column(0), got.Outputs.Column(1)
	if text := textOf(t, words); text != `[["to","be"],null,["to","be"],[]]` {
		t.Errorf("words %s", text)
	}
	if first, again := textOf(t, vectors.(interface{ ListValues() arrow.Array }).ListValues()), vectors.NullN(); again != 1 {
		t.Errorf("vectors %s", first)
	}
	s.Environment["LENGTH"] = "top-secret"
	if _, err = newRuntime(t, wasm.Limits{}).Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), `LENGTH is ***;`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error that hides the value", err)
	}
}

// rustGuests builds the examples of the Rust kit. They are tested where a Rust with the target is.
func rustGuests(t *testing.T) (folder string) {
	t.Helper()
	const target = "wasm32-unknown-unknown"
	libraries, err := exec.Command("rustc", "--print", "target-libdir", "--target", target).Output()
	if err != nil {
		t.Skip("there is no Rust here")
	}
	if _, err := os.Stat(strings.TrimSpace(string(libraries))); err != nil {
		t.Skip("the Rust here does not have the target " + target)
	}
	folder = t.TempDir()
	build := exec.Command("cargo", "build", "--quiet", "--offline", "--release", "--examples", "--target", target, "--target-dir", folder)
	build.Dir = filepath.Join("..", "..", "..", "..", "local", "guest", "rust")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		t.Fatalf("build the examples: %v", err)
	}
	return filepath.Join(folder, target, "release", "examples")
}

func TestFunctionsInRust(t *testing.T) {
	folder := rustGuests(t)
	module := func(name string) []byte {
		code, err := os.ReadFile(filepath.Join(folder, name+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	f := open(t, newRuntime(t, wasm.Limits{}), spec(module("upper"), word, word))
	got, err := f.Call(t.Context(), rows(t, word, `["a",null,"fail","ärger","panic",""]`))
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, got.Outputs.Column(0)); text != `["A",null,null,"ÄRGER",null,""]` {
		t.Errorf("outputs %s", text)
	}
	if len(got.Failed) != 2 || got.Failed[0] != (udf.Failure{Row: 2, Type: "Error", Message: "the text asks for it"}) ||
		got.Failed[1].Row != 4 || got.Failed[1].Type != "Trap" || !strings.Contains(got.Failed[1].Message, "the text asks for it") {
		t.Errorf("failed: %+v", got.Failed)
	}

	vectors := arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)
	s := spec(module("norm"), vectors, vectors)
	s.Outputs = append(s.Outputs, arrow.Field{Name: "length", Type: arrow.PrimitiveTypes.Float64, Nullable: true})
	f = open(t, newRuntime(t, wasm.Limits{}), s)
	if got, err = f.Call(t.Context(), rows(t, vectors, `[[3,0,4],null,[0,0,0]]`)); err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, got.Outputs.Column(0)) + textOf(t, got.Outputs.Column(1)); text != `[[0.6,0,0.8],null,null][5,null,null]` {
		t.Errorf("outputs %s", text)
	}
	if len(got.Failed) != 1 || got.Failed[0] != (udf.Failure{Row: 2, Type: "ValueError", Message: "the vector has no length"}) {
		t.Errorf("failed: %+v", got.Failed)
	}
}

// A module is compiled once, and then its code is read.
func TestCodeIsCompiledOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := newRuntime(t, wasm.Limits{})
	for range 2 {
		f, err := r.Open(t.Context(), spec(module{}.bytes(), word, word))
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	files, err := filepath.Glob(filepath.Join(os.TempDir(), "tiltyard-wasm-*", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v, want one", files, err)
	}
}
