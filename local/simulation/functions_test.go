package simulation_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/transactionapi"
)

// What is here is one function, whose versions have numbers as their code, and one secret that it is given.
// The facts are "f", the codes of its versions, and "key", the number of the value of the secret. Jobs make
// versions, and read the secret: each value that a function is given is an operation of the history, too.

// functionCodes is how many codes clients use.
const functionCodes = 3

// functionOf returns what the function with a code computes of a number. It fails for some numbers.
func functionOf(code, n int64) (value int64, ok bool) { return 1000*code + n, n%10 != 9 }

const (
	functionPath = "/v1/function/f/"
	secretPath   = "/v1/secret/key/"
	canary       = "canary-of-the-secret-" // what values of the secret begin with
)

// notThere is the code of a missing function or secret, and taken that of a name.
const notThere, taken = noTable, tableExists

var numberType = map[string]any{"name": "n", "arrow_type": "int64", "nullable": true}

// createFunction begins a job that makes a version with a code.
func (c *client) createFunction(code int) *op {
	artifact := []byte(strconv.Itoa(code))
	return c.beginning("fills", fmt.Sprintf("create the function with the code %d", code), post(functionPath+"create", map[string]any{
		"artifact": map[string]any{
			"kind": "simulated_code", "digest": functionapi.DigestOf(artifact),
			"content": map[string]any{"encoding": "base64", "data": base64.StdEncoding.EncodeToString(artifact)},
		},
		"signature":       map[string]any{"inputs": []any{numberType}, "output": map[string]any{"kind": "scalar", "arrow_type": "int64", "nullable": false}},
		"runtime":         map[string]any{"kind": "simulated"},
		"secret_bindings": []any{map[string]any{"kind": "env", "variable": "KEY", "secret_ref": map[string]any{"name": "key"}}},
	}))
}

// tellFunctions enters what the jobs that make versions came to into the history. A job may have been run
// several times, and may have made a version although it did not succeed.
func (c *client) tellFunctions() {
	items := c.world.jobs()
	step, _ := c.world.now()
	for _, job := range items {
		var order struct{ Definition functionapi.Definition }
		if job.Kind != "create_function" || json.Unmarshal(job.Work.Input, &order) != nil {
			continue
		}
		code := codeOfDigest(order.Definition.Artifact.Digest)
		made := func(f facts) facts {
			codes, _ := f.get("f")
			if slices.Contains(strings.Fields(codes), code) {
				return f
			}
			return f.with("f", strings.TrimSpace(codes+" "+code))
		}
		perhaps := func(f facts) []facts { return []facts{f, made(f)} }
		var told functionapi.Version
		succeeded := job.Status == transactionapi.Succeeded
		if succeeded {
			if err := json.Unmarshal(job.Result, &told); err != nil {
				c.world.witness.saw("job %s came to %s", job.ID, job.Result)
			}
		}
		o := &op{
			domain: "function", text: fmt.Sprintf("job %s makes version %s with the code %s", job.ID, told.Version, code),
			apply: func(f facts, _ outcome) []facts {
				if !succeeded {
					return perhaps(f)
				}
				f = made(f)
				codes, _ := f.get("f")
				if at := functionapi.VersionNumber(told.Version); slices.Index(strings.Fields(codes), code) != at-1 {
					return nil
				}
				return []facts{f}
			},
			parts: []func(facts) []facts{perhaps, perhaps},
		}
		c.record(event{client: c.number, op: o, end: step, outcome: outcome{status: http.StatusOK}})
		c.world.witness.counts["functions told"]++
	}
}

// codeOfDigest returns the code of an artifact with a digest.
func codeOfDigest(digest string) string {
	for code := range functionCodes + 2 {
		if functionapi.DigestOf([]byte(strconv.Itoa(code))) == digest {
			return strconv.Itoa(code)
		}
	}
	return "?"
}

// dropFunction drops all versions. A request that is sent again may drop what was made in between.
func dropFunction() *op {
	gone := func(f facts) []facts { return []facts{f, f.without("f")} }
	return &op{
		domain: "function", text: "drop the function", request: post(functionPath+"drop", map[string]any{"version": "1"}),
		apply: usual(func(f facts, o outcome) (facts, bool) {
			if o.unknown {
				return f.without("f"), true
			}
			var told struct{ Dropped bool }
			o.decode(&told)
			return f.without("f"), told.Dropped == f.has("f")
		}, func(f facts, o outcome) bool { return o.refusedWith(notThere) && !f.has("f") }),
		parts: []func(facts) []facts{gone},
	}
}

// listFunctions lists all versions.
func listFunctions() *op {
	return &op{
		domain: "function", text: "list functions", request: post("/v1/namespace/$/function/list", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool {
			var told struct {
				Functions []struct{ Definition functionapi.Version }
			}
			if !o.ok() {
				return false
			}
			o.decode(&told)
			var codes []string
			for i, v := range told.Functions {
				if v.Definition.Version != strconv.Itoa(i+1) {
					return false
				}
				codes = append(codes, codeOfDigest(v.Definition.Image.Descriptor.Artifact.Digest))
			}
			want, _ := f.get("f")
			return strings.Join(codes, " ") == want
		}),
	}
}

// useFunction declares a column that the version with a code computes, if there is one, and reports whether it
// has.
func (c *client) useFunction(code int) bool {
	listed := c.do(listFunctions())
	var told struct {
		Functions []struct{ Definition functionapi.Version }
	}
	if listed.ok() {
		listed.decode(&told)
	}
	for _, v := range told.Functions {
		f := v.Definition
		if codeOfDigest(f.Image.Descriptor.Artifact.Digest) != strconv.Itoa(code) {
			continue
		}
		name := fmt.Sprint("made", code)
		schemaOf := func(name string) any {
			return map[string]any{"fields": []any{map[string]any{"name": name, "nullable": true, "type": map[string]any{"type": "int64"}}}}
		}
		return c.do(anything("fills", "declare "+name, post(filledTable+"add_columns", map[string]any{
			"new_columns": []any{map[string]any{"name": name, "all_null": true}},
			"function": map[string]any{
				"application": map[string]any{
					"function": map[string]any{"name": f.Name, "object_id": f.ObjectID, "location": f.Location, "version": f.Version, "manifest_digest": f.Image.ManifestDigest},
					"inputs":   []any{map[string]any{"parameter": "n", "kind": "column", "value": map[string]any{"path": "n"}}},
					"output":   map[string]any{"kind": "scalar", "arrow_type": "int64", "nullable": false},
				},
				"binding_metadata_version": 1,
				"input_bindings":           []any{map[string]any{"parameter": "n", "field_path": "n", "arrow_type": "int64", "nullable": true}},
				"input_schema":             schemaOf("n"), "output_schema": schemaOf(name),
				"outputs": []any{map[string]any{"result_field": schemaapi.WholeResult, "output_name": name, "output_ordinal": 0}},
			},
		}), invalid, badSchema, noColumn)).ok()
	}
	return false
}

// lookAtArtifacts looks for artifacts that no version names, long after the last request.
func (o *witness) lookAtArtifacts() {
	named := map[string]bool{}
	for _, key := range o.world.bucket.keys {
		var record struct{ Versions []struct{ Artifact string } }
		if strings.HasPrefix(key, "_catalog/") && json.Unmarshal(o.world.bucket.objects[key].data, &record) == nil {
			for _, v := range record.Versions {
				named[v.Artifact] = true
			}
		}
	}
	for _, key := range o.world.bucket.keys {
		if strings.HasPrefix(key, "_functions/") && !named[key] {
			o.saw("%s is left behind", key)
		}
		delete(named, key)
	}
	delete(named, "")
	for key := range named {
		o.saw("%s is gone, and a version names it", key)
	}
}

// writeSecret creates or alters the secret. Each value has a number of its own. The service keeps no note of
// such requests, so one that is sent again may be made again.
func (c *client) writeSecret(verb string) *op {
	value := strconv.Itoa(c.value())
	again := func(f facts) []facts {
		if f.has("key") == (verb == "alter") {
			return []facts{f, f.with("key", value)}
		}
		return []facts{f}
	}
	return &op{
		domain: "secret", text: fmt.Sprintf("%s the secret with value %s", verb, value), request: post(secretPath+verb, map[string]any{"value": canary + value}),
		apply: usual(func(f facts, _ outcome) (facts, bool) {
			return f.with("key", value), f.has("key") == (verb == "alter")
		}, func(f facts, o outcome) bool {
			return verb == "create" && o.refusedWith(taken) && f.has("key") || verb == "alter" && o.refusedWith(notThere) && !f.has("key")
		}),
		parts: []func(facts) []facts{again, again},
	}
}

func (c *client) dropSecret() *op {
	gone := func(f facts) []facts { return []facts{f, f.without("key")} }
	return &op{
		domain: "secret", text: "drop the secret", request: post(secretPath+"drop", map[string]any{}),
		apply: usual(func(f facts, _ outcome) (facts, bool) { return f.without("key"), f.has("key") },
			func(f facts, o outcome) bool { return o.refusedWith(notThere) && !f.has("key") }),
		parts: []func(facts) []facts{gone},
	}
}

func describeSecret() *op {
	return &op{
		domain: "secret", text: "describe the secret", request: post(secretPath+"describe", map[string]any{}),
		apply: reading(func(f facts, o outcome) bool { return o.ok() == f.has("key") && (o.ok() || o.refusedWith(notThere)) }),
	}
}

// lookForSecrets looks for values of the secret in all that is stored and was printed.
func (c *client) lookForSecrets() {
	o, forms := c.world.witness, [][]byte{[]byte(canary), []byte(base64.StdEncoding.EncodeToString([]byte(canary))[:20])}
	look := func(what string, data []byte) {
		for _, form := range forms {
			if bytes.Contains(data, form) {
				o.saw("%s holds a value of the secret", what)
			}
		}
	}
	for _, key := range c.world.bucket.keys {
		look(key, c.world.bucket.objects[key].data)
	}
	for key, item := range c.world.table.items {
		for _, values := range item {
			for _, value := range values {
				look(key, []byte(value))
			}
		}
	}
	for _, line := range c.world.trace {
		look(line, []byte(line))
	}
	for _, e := range c.events {
		look(e.op.text, e.outcome.body)
	}
}

// simulatedKeys seal secrets with one key.
type simulatedKeys struct{}

var simulatedKey = make([]byte, secretbox.KeyBytes)

func (simulatedKeys) Seal(_ context.Context, id []string, value []byte) (secretbox.Sealed, error) {
	return secretbox.Encrypt(simulatedKey, secretbox.Binding("simulation", id), value)
}

func (simulatedKeys) Open(_ context.Context, id []string, sealed secretbox.Sealed) ([]byte, error) {
	return secretbox.Decrypt(simulatedKey, secretbox.Binding("simulation", id), sealed)
}

// beganKey is the key of the step at which a worker has begun, in its context.
type beganKey struct{}

// simulated is the runtime of functions whose code is a number.
type simulated struct{ world *world }

func (r simulated) Open(ctx context.Context, s udf.Spec) (udf.Caller, error) {
	code, err := strconv.ParseInt(string(s.Artifact), 10, 64)
	if err != nil {
		return nil, err
	}
	value, isValue := strings.CutPrefix(s.Environment["KEY"], canary)
	if s.Environment["KEY"] != "" { // a job that proves a function need not have it
		r.read(ctx, value, isValue)
	}
	c := &numberCaller{world: r.world, spec: s, code: code}
	for _, job := range r.world.jobs() {
		var order struct{ Where string }
		if job.ID == s.Job && job.Kind == backfillKind && json.Unmarshal(job.Work.Input, &order) == nil {
			c.chosen = fillConditions[order.Where]
		}
	}
	return c, nil
}

// read enters a value that a function is given into the history.
func (r simulated) read(ctx context.Context, value string, isValue bool) {
	began, _ := ctx.Value(beganKey{}).(int64)
	now, _ := r.world.now()
	o := &op{domain: "secret", text: "a function is given the value " + value, apply: func(f facts, _ outcome) []facts {
		if there, _ := f.get("key"); !isValue || there != value {
			return nil
		}
		return []facts{f}
	}}
	r.world.record(event{op: o, call: began, end: now, outcome: outcome{status: http.StatusOK}})
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	r.world.witness.counts["secrets read"]++
}

type numberCaller struct {
	world  *world
	spec   udf.Spec
	code   int64
	chosen func(n int64) bool // of the job, nil: all rows
}

func (*numberCaller) Close() error { return nil }

func (c *numberCaller) Call(_ context.Context, in arrow.RecordBatch) (udf.Result, error) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	var failed []udf.Failure
	for i, n := range in.Column(0).(*array.Int64).Int64Values() {
		if c.chosen != nil && !c.chosen(n) {
			c.world.mu.Lock()
			c.world.wrongCall = fmt.Sprintf("job %s calls its function with %d, which it was not to compute", c.spec.Job, n)
			c.world.mu.Unlock()
		}
		value, ok := functionOf(c.code, n)
		if ok {
			b.Append(value)
			continue
		}
		b.AppendNull()
		failed = append(failed, udf.Failure{Row: i, Type: "Nine", Message: fmt.Sprint(n, " ends with 9, and the key is ", c.spec.Environment["KEY"])})
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: c.spec.Outputs[0].Name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	return udf.Result{Outputs: array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, in.NumRows()), Failed: failed}, nil
}
