package command

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
)

func newFunctionCommand(s *session) *cobra.Command {
	list := s.in("list", "List the functions of a namespace, each with all its versions", func(r *run, id protocol.Common) error {
		out := s.list(r.cmd, "NAME", "VERSION", "RUNTIME", "SIGNATURE", "DISABLED")
		for v, err := range r.client.Functions(r.ctx, &functionapi.ListRequest{Common: id}) {
			if err != nil {
				return err
			}
			out.add(v, v.Name, v.Version, runtimeOf(v), signatureText(v.Signature), v.Disabled)
		}
		return out.flush()
	})
	var version string
	show := s.on("show FUNCTION", "Show a version of a function", exactly(1), func(r *run, id protocol.Common) error {
		v, err := r.client.DescribeFunction(r.ctx, &functionapi.Request{Common: id, Version: version})
		if err != nil {
			return err
		}
		return s.show(r.cmd, v, "function", v.Name, "version", v.Version, "runtime", runtimeOf(*v), "signature", signatureText(v.Signature),
			"code", v.Image.Descriptor.Artifact.Digest, "created (UTC)", at(v.CreatedAtMillis), "disabled", v.Disabled)
	})
	versionFlag(show, &version)
	drop := s.on("drop FUNCTION", "Remove a function with all its versions", exactly(1), func(r *run, id protocol.Common) error {
		done, err := r.client.DropFunction(r.ctx, &functionapi.Request{Common: id, Version: version})
		if err == nil && !done.Dropped {
			say(r.cmd, "there is no such function")
		}
		return err
	})
	versionFlag(drop, &version)
	return newGroup("function", "Functions that compute columns", list, show, newFunctionCreate(s), drop)
}

func versionFlag(cmd *cobra.Command, version *string) {
	cmd.Flags().StringVar(version, "version", "1", "the number of the version")
}

// A functionSource contains the flags of function create.
type functionSource struct {
	inputs, outputs []string
	env, secrets    map[string]string
	body            bool
}

// newFunctionCreate creates a version of a function from a file.
func newFunctionCreate(s *session) *cobra.Command {
	var f functionSource
	var wait bool
	create := s.on("create FUNCTION FILE --input NAME:TYPE --output TYPE", "Make a version of a function of a file .wasm or .sql", exactly(2), func(r *run, id protocol.Common) error {
		content, err := os.ReadFile(r.args[1])
		if err != nil {
			return err
		}
		req := &functionapi.CreateRequest{}
		if f.body {
			err = json.Unmarshal(content, req)
		} else {
			err = f.describe(s, filepath.Ext(r.args[1]), content, req)
		}
		if err != nil {
			return usagef("%s: %w", r.args[1], err)
		}
		req.Common = id
		begun, err := r.client.CreateFunction(r.ctx, req)
		if err != nil {
			return err
		}
		return s.begun(r, begun.JobID, wait)
	})
	create.Example = `  tiltyard function create sales/loud loud.sql --input text:utf8? --output utf8 --wait
  tiltyard function create sales/upper upper.wasm --input text:utf8? --output utf8 --env LENGTH=8 --secret KEY=sales/key`
	create.Flags().StringArrayVar(&f.inputs, "input", nil, "a parameter NAME:TYPE, with ? behind a type that takes nulls; may be repeated")
	create.Flags().StringArrayVar(&f.outputs, "output", nil, "the TYPE of the result, or NAME:TYPE for each of its fields")
	create.Flags().StringToStringVar(&f.env, "env", nil, "a variable NAME=VALUE that the function sees")
	create.Flags().StringToStringVar(&f.secrets, "secret", nil, "a variable NAME=SECRET that holds the value of a secret")
	create.Flags().BoolVar(&f.body, "body", false, "the file is the whole request in JSON, of a function in Python for example")
	waitFlag(create, &wait)
	return create
}

// describe completes a request for a function whose code is the content of a file.
func (f functionSource) describe(s *session, extension string, content []byte, req *functionapi.CreateRequest) error {
	artifact, kind := "", ""
	switch extension {
	case ".wasm":
		artifact, kind = "wasm_module", "wasm"
	case ".sql":
		artifact, kind = "sql_expression", "sql"
		content = []byte(strings.TrimSpace(string(content)))
	default:
		return fmt.Errorf("its name ends with neither .wasm nor .sql; --body sends a whole request in JSON")
	}
	signature, err := f.signature()
	if err != nil {
		return err
	}
	runtime := map[string]any{"kind": kind}
	if len(f.env) > 0 {
		runtime["env"] = f.env
	}
	var bindings []functionapi.SecretBinding
	for variable, name := range f.secrets {
		secret, err := s.object(name)
		if err != nil {
			return err
		}
		last := len(secret.ID) - 1
		bindings = append(bindings, functionapi.SecretBinding{
			Kind: "env", Variable: variable, Secret: functionapi.SecretReference{Name: secret.ID[last], Namespace: secret.ID[:last]},
		})
	}
	// Flags come as a map. A stable order gives equal requests an equal digest.
	slices.SortFunc(bindings, func(a, b functionapi.SecretBinding) int { return strings.Compare(a.Variable, b.Variable) })
	body, err := json.Marshal(map[string]any{
		"artifact": map[string]any{
			"kind": artifact, "digest": functionapi.DigestOf(content),
			"content": functionapi.Content{Encoding: "base64", Data: base64.StdEncoding.EncodeToString(content)},
		},
		"signature": signature, "runtime": runtime, "secret_bindings": bindings,
	})
	if err != nil {
		return err
	}
	return json.Unmarshal(body, req)
}

// signature parses the flags for parameters and results.
func (f functionSource) signature() (functionapi.Signature, error) {
	var signature functionapi.Signature
	for _, text := range f.inputs {
		field, err := parseField(text)
		if err != nil {
			return signature, err
		}
		signature.Inputs = append(signature.Inputs, field)
	}
	switch {
	case len(f.outputs) == 0:
		return signature, fmt.Errorf("--output is required, such as --output utf8")
	case len(f.outputs) == 1 && !strings.Contains(f.outputs[0], ":"):
		signature.Output = functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: f.outputs[0], Nullable: new(bool)}
		return signature, nil
	}
	signature.Output.Kind = functionapi.NamedStructOutput
	for _, text := range f.outputs {
		field, err := parseField(text)
		if err != nil {
			return signature, err
		}
		signature.Output.Fields = append(signature.Output.Fields, field)
	}
	return signature, nil
}

// parseField parses NAME:TYPE, or NAME:TYPE? for a nullable one.
func parseField(text string) (functionapi.Field, error) {
	name, kind, found := strings.Cut(text, ":")
	if !found || name == "" || kind == "" {
		return functionapi.Field{}, fmt.Errorf("%s is not of the form NAME:TYPE", strconv.Quote(text))
	}
	kind, nullable := strings.CutSuffix(kind, "?")
	return functionapi.Field{Name: name, ArrowType: kind, Nullable: nullable}, nil
}

// signatureText formats a signature on one line, in the syntax of the flags of create.
func signatureText(s functionapi.Signature) string {
	fields := func(all []functionapi.Field) string {
		var texts []string
		for _, f := range all {
			text := f.Name + ":" + f.ArrowType
			if f.Nullable {
				text += "?"
			}
			texts = append(texts, text)
		}
		return "(" + strings.Join(texts, ", ") + ")"
	}
	out := s.Output.ArrowType
	if s.Output.Kind != functionapi.ScalarOutput {
		out = fields(s.Output.Fields)
	}
	return fields(s.Inputs) + " -> " + out
}

// runtimeOf returns the runtime kind of a version.
func runtimeOf(v functionapi.Version) string {
	return functionapi.Definition{Runtime: v.Image.Descriptor.Runtime}.RuntimeKind()
}
