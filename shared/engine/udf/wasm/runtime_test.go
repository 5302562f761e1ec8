package wasm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/engine/udf/wasm"
	"tiltyard/shared/engine/udf/wasm/frame"
	"tiltyard/shared/engine/udf/wasm/host"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

// TestMain lets the test program be the child that runs a module, and children that lie.
func TestMain(m *testing.M) {
	host.Intercept()
	if len(os.Args) == 2 && liars[os.Args[1]] != nil {
		liars[os.Args[1]]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A liar stands in for a child process that does not keep to the rules.
var liars = map[string]func(){
	"liar-spy": func() { // reports its arguments and environment
		files, _ := os.ReadDir("/proc/self/fd")
		var names []string
		for _, f := range files {
			if target, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/fs/cgroup/") { // the Go runtime's own
				kind, _, _ := strings.Cut(target, ":")
				names = append(names, f.Name()+"="+kind)
			}
		}
		_ = frame.WriteJSON(os.Stdout, frame.Failed, frame.Failure{Type: "Spy", Message: fmt.Sprint(os.Environ(), names)})
	},
	"liar-garbage": func() { fmt.Print("HTTP/1.1 200 OK\r\n\r\n"); time.Sleep(time.Minute) },
	"liar-early":   func() { _ = frame.Write(os.Stdout, frame.Result, make([]byte, 100)); time.Sleep(time.Minute) },
	"liar-silent":  func() { time.Sleep(time.Minute) },
	"liar-ends":    func() { os.Exit(3) },
	"liar-promises": func() {
		_ = frame.Write(os.Stdout, frame.Opened)
		fmt.Print("R\xff\xff\xff\x03\xff\xff")
		time.Sleep(time.Minute)
	},
	"liar-large": func() {
		_ = frame.Write(os.Stdout, frame.Opened)
		fmt.Print("R\xff\xff\xff\xffARROW")
		time.Sleep(time.Minute)
	},
	"liar-cut": func() { _ = frame.Write(os.Stdout, frame.Opened); fmt.Print("R\xff\x00") },
}

func program(t *testing.T, argument string) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, argument}
}

func newRuntime(t *testing.T, limits wasm.Limits) *wasm.Runtime {
	t.Helper()
	return wasm.NewRuntime(program(t, frame.Argument), nil, limits)
}

var (
	number = arrow.PrimitiveTypes.Int64
	word   = arrow.BinaryTypes.String
)

// spec returns the specification of a function with one parameter.
func spec(code []byte, in, out arrow.DataType) udf.Spec {
	return udf.Spec{
		Name: "f", Version: "1", Kind: wasm.Kind, Artifact: code, Digest: "sha256:0",
		Inputs: []arrow.Field{{Name: "x", Type: in}}, Outputs: []arrow.Field{{Name: "y", Type: out, Nullable: true}},
	}
}

func open(t *testing.T, r *wasm.Runtime, s udf.Spec) udf.Caller {
	t.Helper()
	c, err := r.Open(t.Context(), s)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// rows returns a batch of one column, from JSON.
func rows(t *testing.T, kind arrow.DataType, text string) arrow.RecordBatch {
	t.Helper()
	column, _, err := array.FromJSON(arrowmemory.DefaultAllocator, kind, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: kind, Nullable: true}}, nil), []arrow.Array{column}, int64(column.Len()))
}

// numbers returns a batch of the numbers from 0.
func numbers(n int) arrow.RecordBatch {
	b := array.NewInt64Builder(arrowmemory.DefaultAllocator)
	for i := range n {
		b.Append(int64(i))
	}
	column := b.NewArray()
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: number}}, nil), []arrow.Array{column}, int64(n))
}

func stream(t *testing.T, batch arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := arrowipc.NewStreamWriter(&out, batch.Schema(), arrowipc.Uncompressed)
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// textOf returns a column in JSON.
func textOf(t *testing.T, a arrow.Array) string {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCallComputesBatches(t *testing.T) {
	r := newRuntime(t, wasm.Limits{})
	for _, c := range []struct {
		kind arrow.DataType
		text string
	}{
		{number, `[1,null,3]`},
		{word, `["a",null,"","ärger"]`},
		{arrow.FixedWidthTypes.Boolean, `[true,false,null]`},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[1,2],null,[3,4]]`},
		{arrow.ListOf(arrow.StructOf(arrow.Field{Name: "t", Type: word, Nullable: true})), `[[{"t":"a"},{"t":null}],null,[]]`},
		{arrow.PrimitiveTypes.Float64, `[]`},
	} {
		f := open(t, r, spec(module{}.bytes(), c.kind, c.kind))
		for range 2 {
			got, err := f.Call(t.Context(), rows(t, c.kind, c.text))
			if err != nil {
				t.Fatalf("%s: %v", c.kind, err)
			}
			if text := textOf(t, got.Outputs.Column(0)); text != c.text || len(got.Failed) != 0 {
				t.Errorf("%s: got %s and %v, want %s", c.kind, text, got.Failed, c.text)
			}
			if name := got.Outputs.Schema().Field(0).Name; name != "y" {
				t.Errorf("the output is called %s, want y", name)
			}
		}
	}
}

func TestLargeBatchesAreDivided(t *testing.T) {
	f := open(t, newRuntime(t, wasm.Limits{BatchRows: 100, BatchBytes: 1000}), spec(module{}.bytes(), number, number))
	in := numbers(1234)
	got, err := f.Call(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if !array.Equal(in.Column(0), got.Outputs.Column(0)) {
		t.Error("the rows are not those that went in, in their order")
	}
}

// lastIs returns code that runs the following code only if the last number of the argument, a stream of one
// int64 column, is n. The end marker follows that number.
func lastIs(n int64, then []byte) []byte {
	return join(local(0), local(1), []byte{0x6a}, constant(16), []byte{0x6b}, []byte{0x29, 3, 0, 0x42}, signed(n), []byte{0x51, 0x04, 0x40}, then, []byte{0x0b}, identity)
}

func TestRowsThatFailAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		then []byte
		want string
	}{
		"a trap":            {unreachable, "Trap"},
		"an endless loop":   {forever, "TimeLimit"},
		"a reported reason": {join(answer(1, constant(dataAt), constant(int32(len(reason)))), []byte{0x0f}), "ValueError"},
		"a bad reply":       {join(answer(0, constant(-4), constant(100)), []byte{0x0f}), "InvalidReply"},
	} {
		t.Run(name, func(t *testing.T) {
			code := module{code: map[string][]byte{"call": lastIs(99, c.then)}, data: map[uint32][]byte{dataAt: []byte(reason)}}
			limits := wasm.Limits{}
			if c.want == "TimeLimit" {
				limits.CallTime = 500 * time.Millisecond
			}
			f := open(t, newRuntime(t, limits), spec(code.bytes(), number, number))
			got, err := f.Call(t.Context(), numbers(100))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Failed) != 1 || got.Failed[0].Row != 99 || got.Failed[0].Type != c.want {
				t.Fatalf("failed: %+v, want row 99 by %s", got.Failed, c.want)
			}
			column := got.Outputs.Column(0)
			if column.Len() != 100 || column.NullN() != 1 || column.IsValid(99) || column.(*array.Int64).Value(98) != 98 {
				t.Errorf("outputs: %v", column)
			}
			if got, err = f.Call(t.Context(), numbers(3)); err != nil || len(got.Failed) != 0 {
				t.Errorf("the next batch: %v, %v", got.Failed, err)
			}
		})
	}
}

const reason = `{"error_type": "ValueError", "message": "too much", "retryable": false}`

func TestCallGivesUpAFunctionThatAlwaysFails(t *testing.T) {
	code := module{code: map[string][]byte{"call": notEmpty(forever)}}
	f := open(t, newRuntime(t, wasm.Limits{CallTime: 100 * time.Millisecond}), spec(code.bytes(), number, number))
	_, err := f.Call(t.Context(), numbers(4096))
	if err == nil || !strings.Contains(err.Error(), "TimeLimit") {
		t.Fatalf("got %v, want an error about the time", err)
	}
}

// notEmpty returns code that runs the following code only if the last value of the argument is not 0 in
// memory: the stream of an empty batch ends with its metadata.
func notEmpty(then []byte) []byte {
	return join(local(1), constant(int32(emptySize)), []byte{0x4b, 0x04, 0x40}, then, []byte{0x0b}, identity)
}

// emptySize is the size of the stream of one column of int64 without rows.
var emptySize = func() int {
	var out bytes.Buffer
	batch := numbers(0)
	w := arrowipc.NewStreamWriter(&out, arrow.NewSchema([]arrow.Field{{Name: "x", Type: number, Nullable: true}}, nil), arrowipc.Uncompressed)
	_ = w.Write(array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "x", Type: number, Nullable: true}}, nil), batch.Columns(), 0))
	_ = w.Close()
	return out.Len()
}()

func TestHostileModulesAreRefusedByName(t *testing.T) {
	call := func(code []byte) module { return module{code: map[string][]byte{"call": code}} }
	with := func(name string, code []byte) module { return module{code: map[string][]byte{name: code}} }
	zeros := bytes.Repeat([]byte{0}, 64)
	wrongType := stream(t, rows(t, word, `[]`))
	static := func(content []byte) module {
		m := call(answer(0, constant(dataAt), constant(int32(len(content)))))
		m.data = map[uint32][]byte{dataAt: content}
		return m
	}
	// grow: loop memory.grow(16) until -1, then unreachable
	grow := []byte{0x03, 0x40, 0x41, 16, 0x40, 0, 0x41, 0x7f, 0x47, 0x0d, 0, 0x0b, 0x00}
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"no module":                 {[]byte("#!/bin/sh\necho hello"), "InvalidModule"},
		"nothing":                   {nil, "InvalidModule"},
		"half of a module":          {module{}.bytes()[:60], "InvalidModule"},
		"no memory":                 {module{without: "memory"}.bytes(), "InvalidModule: it exports 0 memories"},
		"no call":                   {module{without: "call"}.bytes(), "does not export the function call"},
		"no alloc":                  {module{without: "alloc"}.bytes(), "does not export the function alloc"},
		"a foreign import":          {module{imports: [][2]string{{"env", "system"}}}.bytes(), `it imports "system" of "env"`},
		"an unknown WASI import":    {module{imports: [][2]string{{"wasi_snapshot_preview1", "fd_fire"}}}.bytes(), `it imports "fd_fire"`},
		"a WASI import's type":      {module{imports: [][2]string{{"wasi_snapshot_preview1", "fd_write"}}}.bytes(), "InvalidModule"},
		"another version":           {with("tiltyard_abi", constant(2)).bytes(), "tiltyard_abi returns 2"},
		"too much memory":           {module{pages: 5000}.bytes(), "InvalidModule"},
		"a start that loops":        {module{start: true, code: map[string][]byte{"close": forever}}.bytes(), "TimeLimit"},
		"an _initialize that traps": {with("_initialize", unreachable).bytes(), "Trap: _initialize: unreachable"},
		"an open that loops":        {with("open", forever2).bytes(), "TimeLimit"},
		"a bad place of alloc":      {with("alloc", constant(-8)).bytes(), "InvalidReply: alloc returns"},
		"a bad place of a reply":    {call(constant(-4)).bytes(), "InvalidReply: call returns"},
		"a bad place of content":    {call(answer(0, constant(-100), constant(200))).bytes(), "InvalidReply: the content"},
		"a huge size":               {call(answer(0, constant(0), constant(-1))).bytes(), "OutputLimit"},
		"a huge reply":              {module{pages: 2000, code: map[string][]byte{"call": answer(0, constant(0), constant(70<<20))}}.bytes(), "OutputLimit: the reply has 73400320 bytes"},
		"an unknown status":         {call(answer(7, constant(0), constant(0))).bytes(), "the status of the reply is 7"},
		"an empty reply":            {call(answer(0, constant(0), constant(0))).bytes(), "InvalidReply"},
		"zeros":                     {static(zeros).bytes(), "InvalidReply"},
		"garbage":                   {static(bytes.Repeat([]byte{0xff, 0xff, 0xff, 0xff, 0x10}, 40)).bytes(), "InvalidReply"},
		"another type":              {static(wrongType).bytes(), "output y is of type utf8, not int64"},
		"rows of nothing":           {static(stream(t, numbers(5))).bytes(), "it has 5 rows for 0"},
		"a stream that is cut":      {static(stream(t, numbers(0))[:emptySize-8]).bytes(), "no end marker"},
		"more than a stream":        {static(append(stream(t, numbers(0)), 1, 2, 3)).bytes(), "3 bytes follow"},
		"several rows of one":       {static(stream(t, expanded())).bytes(), "functions that make several rows of one are not supported"},
		"a reason that is no JSON":  {call(answer(1, constant(emptyReply), constant(8))).bytes(), "the failure is not JSON"},
		"a reason of a megabyte":    {call(answer(1, constant(0), constant(1<<20))).bytes(), "the failure has 1048576 bytes"},
		"a trap":                    {call(unreachable).bytes(), "Trap: call: unreachable"},
		"division by zero":          {call(join(constant(1), constant(0), []byte{0x6d})).bytes(), "Trap: call: integer divide by zero"},
		"a load from nowhere":       {call(join(constant(-4), []byte{0x28, 2, 0})).bytes(), "Trap: call: out of bounds memory access"},
		"endless recursion":         {call(join(local(0), local(1), []byte{0x10, 1})).bytes(), "Trap: call: stack overflow"},
		"endless growth":            {call(grow).bytes(), "Trap: call: unreachable"},
		"an endless loop":           {call(forever2).bytes(), "TimeLimit"},
		"an exit":                   {module{exitCode: true, code: map[string][]byte{"call": join(constant(42), []byte{0x10, 0}, unreachable)}}.bytes(), "Exit: call ended the module with exit code 42"},
		"a free that traps":         {with("free", unreachable).bytes(), "Trap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := wasm.Limits{}
			if c.want == "TimeLimit" {
				limits.CallTime = 300 * time.Millisecond
			}
			f, err := newRuntime(t, limits).Open(t.Context(), spec(c.code, number, number))
			if err == nil {
				_ = f.Close()
				t.Fatal("it was opened")
			}
			if p, ok := err.(*protocol.Error); !ok || p.Code != protocol.InvalidInput || !strings.Contains(p.Text(), c.want) { //nolint:errorlint // as it is
				t.Errorf("got %v, want InvalidInput with %q", err, c.want)
			}
		})
	}
}

// forever2 loops and then, never, returns a number.
var forever2 = join(forever, unreachable)

func expanded() arrow.RecordBatch {
	n := numbers(0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "__parent", Type: number}, {Name: "y", Type: number}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{n.Column(0), n.Column(0)}, 0)
}

func TestRuntimeRefusesUnsupportedSpecs(t *testing.T) {
	r := newRuntime(t, wasm.Limits{ModuleBytes: 1000})
	for name, c := range map[string]struct {
		change func(s *udf.Spec)
		want   string
	}{
		"another kind":   {func(s *udf.Spec) { s.Kind = "python_bundle" }, "python_bundle"},
		"an entrypoint":  {func(s *udf.Spec) { s.Entrypoint = "main" }, "no entrypoint"},
		"a large module": {func(s *udf.Spec) { s.Artifact = make([]byte, 1001) }, "1001 bytes; 1000 are allowed"},
		"no outputs":     {func(s *udf.Spec) { s.Outputs = nil }, "no outputs"},
		"a dictionary": {func(s *udf.Spec) {
			s.Inputs[0].Type = &arrow.DictionaryType{IndexType: number, ValueType: word}
		}, "without dictionaries"},
		"too many variables": {func(s *udf.Spec) { s.Environment = map[string]string{"A": strings.Repeat("a", 1<<20)} }, "its variables"},
	} {
		s := spec(module{}.bytes(), number, number)
		c.change(&s)
		if _, err := r.Open(t.Context(), s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestLyingChildrenAreErrorsWithNames(t *testing.T) {
	for name, want := range map[string]string{
		"liar-garbage": "HostFailed", "liar-early": "HostFailed", "liar-silent": "TimeLimit", "liar-ends": "HostFailed: the process ended: exit status 3",
		"liar-promises": "TimeLimit", "liar-large": "HostFailed", "liar-cut": "HostFailed",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := wasm.NewRuntime(program(t, name), nil, wasm.Limits{CallTime: 300 * time.Millisecond})
			if _, err := r.Open(t.Context(), spec(module{}.bytes(), number, number)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestChildGetsPipesAndNothingElse(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary")
	open, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	_, err = wasm.NewRuntime(program(t, "liar-spy"), nil, wasm.Limits{}).Open(t.Context(), spec(module{}.bytes(), number, number))
	if err == nil || !strings.Contains(err.Error(), "Spy: [] [0=pipe 1=pipe 2=pipe]") {
		t.Errorf("got %v, want no variables and three pipes", err)
	}
}

// children returns the processes that this one has started.
func children(t *testing.T) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("the system does not list the children of a process")
	}
	var found []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has none
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				found = append(found, pid)
			}
		}
	}
	return found
}

// countdown is code that takes half a second or so, if there are rows.
var countdown = notEmpty(join(constant(1<<29), []byte{0x21, 2, 0x03, 0x40, 0x20, 2, 0x41, 1, 0x6b, 0x22, 2, 0x0d, 0, 0x0b}))

func TestChildIsStartedAgainWhenKilled(t *testing.T) {
	code := module{code: map[string][]byte{"call": countdown}, locals: map[string]uint32{"call": 1}}
	f := open(t, newRuntime(t, wasm.Limits{}), spec(code.bytes(), number, number))
	before := children(t)
	if len(before) != 1 {
		t.Fatalf("%d children, want 1", len(before))
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(before[0], syscall.SIGKILL) })
	got, err := f.Call(t.Context(), numbers(3))
	if err != nil || len(got.Failed) != 0 || textOf(t, got.Outputs.Column(0)) != `[0,1,2]` {
		t.Fatalf("got %+v, %v, want the rows", got, err)
	}
	if after := children(t); len(after) != 1 || after[0] == before[0] {
		t.Errorf("children %v after %v, want another one", after, before)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	code := module{code: map[string][]byte{"call": notEmpty(forever)}}
	f := open(t, newRuntime(t, wasm.Limits{}), spec(code.bytes(), number, number))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := f.Call(ctx, numbers(3)); err == nil || ctx.Err() == nil {
		t.Errorf("got %v, want the context's error", err)
	}
	if left := children(t); len(left) != 0 {
		t.Errorf("children %v are left", left)
	}
}

func TestMemoryComesFromTheShare(t *testing.T) {
	budget := memory.NewBudget(300<<20, 300<<20)
	share := budget.Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	f, err := newRuntime(t, wasm.Limits{}).Open(ctx, spec(module{}.bytes(), number, number))
	if err != nil {
		t.Fatal(err)
	}
	if held := share.Held(); held != 256<<20 {
		t.Errorf("an open function holds %d bytes, want those of its memory", held)
	}
	if _, err := f.Call(ctx, numbers(1000)); err != nil {
		t.Fatal(err)
	}
	if held := share.Held(); held != 256<<20 {
		t.Errorf("after a call it holds %d bytes", held)
	}
	if err := f.Close(); err != nil || share.Held() != 0 {
		t.Errorf("closed: %v, %d bytes held", err, share.Held())
	}
	small := memory.NewBudget(1<<20, 1<<20).Open()
	defer small.Close()
	if _, err := newRuntime(t, wasm.Limits{}).Open(memory.WithShare(t.Context(), small), spec(module{}.bytes(), number, number)); err == nil {
		t.Error("a function was opened without memory")
	}
}
