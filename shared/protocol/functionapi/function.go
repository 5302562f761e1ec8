package functionapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/secretapi"
)

// Operations are the rows of the operations on functions.
var Operations = []protocol.Operation{
	{
		Name: "CreateFunction", Methods: protocol.ByPost, Path: "/v1/function/{id}/create", Group: protocol.GroupFunction, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(CreateRequest), Response: new(CreateResponse), Summary: "Create a version of a function by a job",
		LeastBody: `{"artifact":{"kind":"sql_expression","digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","content":{"encoding":"base64","data":"eA=="}},"signature":{"inputs":[],"output":{"kind":"scalar","arrow_type":"utf8","nullable":false}},"runtime":{"kind":"sql"}}`,
	},
	{
		Name: "DescribeFunction", Methods: protocol.ByPost, Path: "/v1/function/{id}/describe", Group: protocol.GroupFunction, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(Version), Summary: "Describe a version of a function",
		LeastBody: `{"version":"1"}`,
	},
	{
		Name: "DropFunction", Methods: protocol.ByPost, Path: "/v1/function/{id}/drop", Group: protocol.GroupFunction, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(DropResponse), Summary: "Drop a version of a function",
		Frees: true, LeastBody: `{"version":"1"}`,
	},
	{
		Name: "ListFunctions", Methods: protocol.ByGetOrPost, Path: "/v1/namespace/{id}/function/list", Group: protocol.GroupFunction, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List the functions in a namespace",
	},
}

// The limits of functions.
const (
	MaxBody       = 16 << 20 // bytes of a request that creates one
	MaxNameBytes  = 255      // "." and "-" take three bytes each
	MaxDefinition = 64 << 10 // bytes of JSON, without the content of the artifact
	MaxFields     = 256      // parameters, outputs, or fields of initialization
)

// A Definition is what makes a version of a function. The content of the artifact is apart.
type Definition struct {
	Artifact       Artifact        `json:"artifact"`
	Signature      Signature       `json:"signature"`
	Runtime        json.RawMessage `json:"runtime"`
	SecretBindings []SecretBinding `json:"secret_bindings,omitempty"`
}

// An Artifact is the code of a function.
type Artifact struct {
	Kind       string   `json:"kind"`
	Digest     string   `json:"digest"` // of the decoded content: sha256: and hexadecimal digits
	Entrypoint string   `json:"entrypoint,omitempty"`
	Adapter    *Adapter `json:"adapter,omitempty"`
}

// IsSource reports whether the content is text that people write.
func (a Artifact) IsSource() bool { return a.Kind != "wasm_module" }

// An Adapter says how a runtime calls the code.
type Adapter struct {
	Kind    string `json:"kind"`
	Version uint32 `json:"version"`
}

// A Signature has the parameters of a function, what it returns, and the constants that each
// use of it gives.
type Signature struct {
	Inputs         protocol.List[Field] `json:"inputs"`
	Output         Output               `json:"output"`
	Initialization []Field              `json:"initialization,omitempty"`
}

// A Field is a parameter, or a field of a result.
type Field struct {
	Name      string `json:"name"`
	ArrowType string `json:"arrow_type"`
	Nullable  bool   `json:"nullable"`
}

// The kinds of outputs.
const (
	ScalarOutput      = "scalar"       // one value for each row
	NamedStructOutput = "named_struct" // several values, which can become columns of their own
	RowsOutput        = "rows"         // any number of rows; only views use such functions
)

// An Output is what a function returns.
type Output struct {
	Kind      string  `json:"kind"`
	ArrowType string  `json:"arrow_type,omitempty"` // of a scalar
	Nullable  *bool   `json:"nullable,omitempty"`   // of a scalar
	Fields    []Field `json:"fields,omitempty"`
}

// A SecretBinding gives the value of a secret to a function as a variable of its environment.
type SecretBinding struct {
	Kind     string          `json:"kind"`
	Variable string          `json:"variable"`
	Secret   SecretReference `json:"secret_ref"`
}

// A SecretReference names a secret.
type SecretReference struct {
	Name      string   `json:"name"`
	Namespace []string `json:"namespace_path,omitempty"`
}

// ID returns the id of the secret.
func (r SecretReference) ID() []string { return append(append([]string{}, r.Namespace...), r.Name) }

// CreateRequest asks for a version of a function.
type CreateRequest struct {
	protocol.Common
	Artifact *struct {
		Artifact
		Content *Content `json:"content"`
	} `json:"artifact"`
	Signature      *Signature      `json:"signature"`
	Runtime        json.RawMessage `json:"runtime"`
	SecretBindings []SecretBinding `json:"secret_bindings"`

	content []byte
}

// Content is the content of an artifact.
type Content struct {
	Encoding string `json:"encoding"`
	Data     string `json:"data"`
}

// Definition returns the definition of the version.
func (r *CreateRequest) Definition() Definition {
	return Definition{r.Artifact.Artifact, *r.Signature, r.Runtime, r.SecretBindings}
}

// Content returns the decoded content of the artifact. [CreateRequest.Validate] sets it.
func (r *CreateRequest) Content() []byte { return r.content }

// Validate checks all that can be known without the runtime and the catalog. It decodes the content of
// the artifact and compares it with the digest.
func (r *CreateRequest) Validate() error {
	if err := checkName(r.ID); err != nil {
		return err
	}
	switch {
	case r.Artifact == nil:
		return protocol.Errorf(protocol.InvalidInput, "artifact is required: an object with kind, digest and content")
	case r.Signature == nil:
		return protocol.Errorf(protocol.InvalidInput, "signature is required: an object with inputs and output")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Runtime); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "runtime is required: an object with a kind")
	}
	r.Runtime = compact.Bytes()
	if err := r.Signature.validate(); err != nil {
		return err
	}
	env, err := checkRuntime(r.Runtime)
	if err == nil {
		err = checkBindings(r.SecretBindings, env)
	}
	if err == nil {
		err = r.decodeArtifact()
	}
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(r.Definition())
	if err == nil && len(encoded) > MaxDefinition {
		return protocol.Errorf(protocol.InvalidInput, "signature, runtime and secret_bindings have %d bytes together; at most %d are possible", len(encoded), MaxDefinition)
	}
	return err
}

var (
	wordPattern     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	namePattern     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// maxVariableBytes bounds the name of an environment variable. A repetition in the pattern would be compiled 254 times, at
// each start of a program.
const maxVariableBytes = 255

func isVariable(name string) bool {
	return len(name) <= maxVariableBytes && variablePattern.MatchString(name)
}

// checkName refuses names that LanceDB's clients cannot write.
func checkName(id []string) error {
	if err := protocol.RequireName(id); err != nil {
		return err
	}
	name := id[len(id)-1]
	if !namePattern.MatchString(name) || protocol.EscapedBytes(name) > MaxNameBytes {
		return protocol.Errorf(protocol.InvalidInput, "%s cannot name a function: names consist of letters of ASCII, digits, _, . and -, begin with a letter or _, and have at most %d bytes, of which . and - take three each",
			protocol.QuoteShort(name), MaxNameBytes)
	}
	return nil
}

// decodeArtifact checks the artifact of the request and decodes its content.
func (r *CreateRequest) decodeArtifact() error {
	a := r.Artifact
	if !wordPattern.MatchString(a.Kind) {
		return protocol.Errorf(protocol.InvalidInput, "artifact.kind is %s; it must be a word such as sql_expression or python_callable", protocol.QuoteShort(a.Kind))
	}
	if len(a.Entrypoint) > 1024 {
		return protocol.Errorf(protocol.InvalidInput, "artifact.entrypoint has %d bytes; at most 1024 are possible", len(a.Entrypoint))
	}
	if a.Content == nil || a.Content.Encoding != "base64" {
		return protocol.Errorf(protocol.InvalidInput, "artifact.content is required: an object with encoding base64 and data")
	}
	content, err := base64.StdEncoding.DecodeString(a.Content.Data)
	if err != nil {
		return protocol.Errorf(protocol.InvalidInput, "artifact.content.data is not base64: %w", err)
	}
	if digest := DigestOf(content); a.Digest != digest {
		return protocol.Errorf(protocol.InvalidInput, "artifact.digest is not that of the content, which is %s", digest)
	}
	r.content, a.Content = content, nil
	return nil
}

// DigestOf returns sha256: and the hexadecimal SHA-256 of bytes.
func DigestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Digest returns the digest of a definition. Equal definitions have equal digests.
func (d Definition) Digest() (string, error) {
	var runtime any
	decoder := json.NewDecoder(bytes.NewReader(d.Runtime))
	decoder.UseNumber()
	if err := decoder.Decode(&runtime); err != nil {
		return "", fmt.Errorf("runtime of a function: %w", err)
	}
	sorted, err := json.Marshal(runtime) // with the keys in order
	if err != nil {
		return "", err
	}
	d.Runtime = sorted
	encoded, err := json.Marshal(d)
	return DigestOf(encoded), err
}

// RuntimeKind returns the kind of a runtime that [CreateRequest.Validate] has accepted.
func (d Definition) RuntimeKind() string {
	var runtime runtime
	_ = json.Unmarshal(d.Runtime, &runtime)
	return runtime.Kind
}

// Environment returns the variables that the runtime declares.
func (d Definition) Environment() map[string]string {
	var runtime runtime
	_ = json.Unmarshal(d.Runtime, &runtime)
	return runtime.Env
}

// runtime contains the fields of a runtime that the server checks.
type runtime struct {
	Kind        string            `json:"kind"`
	Python      string            `json:"python_version"`
	Environment *json.RawMessage  `json:"environment"`
	Env         map[string]string `json:"env"`
	GPU         *json.RawMessage  `json:"gpu"`
}

// checkRuntime returns the variables that a runtime declares.
func checkRuntime(raw json.RawMessage) (map[string]string, error) {
	var r runtime
	if raw[0] != '{' {
		return nil, protocol.Errorf(protocol.InvalidInput, "runtime must be an object with a kind")
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "runtime has a field of another type than it should: %w", err)
	}
	if !wordPattern.MatchString(r.Kind) {
		return nil, protocol.Errorf(protocol.InvalidInput, "runtime.kind is %s; it must be a word such as sql or python", protocol.QuoteShort(r.Kind))
	}
	if r.Kind == "python" || r.Kind == "python_v2" {
		switch gpu := r.GPU != nil && string(*r.GPU) == "true"; {
		case r.Python == "" || r.Environment == nil:
			return nil, protocol.Errorf(protocol.InvalidInput, "runtime of kind %s needs python_version and environment", r.Kind)
		case r.Kind == "python" && r.GPU != nil && string(*r.GPU) != "null":
			return nil, protocol.Errorf(protocol.InvalidInput, "runtime.gpu needs the kind python_v2")
		case r.Kind == "python_v2" && !gpu:
			return nil, protocol.Errorf(protocol.InvalidInput, "runtime.gpu must be true in the kind python_v2")
		}
	}
	for variable := range r.Env {
		if !isVariable(variable) {
			return nil, protocol.Errorf(protocol.InvalidInput, "runtime.env has %s, which is no name of a variable", protocol.QuoteShort(variable))
		}
	}
	return r.Env, nil
}

// checkBindings checks bindings of secrets. A variable must not be bound twice, or be declared by
// the runtime as well.
func checkBindings(bindings []SecretBinding, env map[string]string) error {
	bound := map[string]bool{}
	for i, b := range bindings {
		_, declared := env[b.Variable]
		name := secretapi.Request{Common: protocol.Common{ID: b.Secret.ID()}}
		switch {
		case b.Kind != "env":
			return protocol.Errorf(protocol.InvalidInput, "secret_bindings[%d].kind is %s; only env is possible", i, protocol.QuoteShort(b.Kind))
		case !isVariable(b.Variable):
			return protocol.Errorf(protocol.InvalidInput, "secret_bindings[%d].variable is %s, which is no name of a variable", i, protocol.QuoteShort(b.Variable))
		case bound[b.Variable], declared:
			return protocol.Errorf(protocol.InvalidInput, "the variable %s is given twice: by secret_bindings[%d], and by runtime.env or another binding", protocol.QuoteShort(b.Variable), i)
		}
		if err := cmp.Or(protocol.CheckID(name.ID), name.Validate()); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "secret_bindings[%d].secret_ref: %w", i, err)
		}
		bound[b.Variable] = true
	}
	return nil
}

// Request names a version of a function.
type Request struct {
	protocol.Common
	Version string `json:"version"`
}

// Validate checks the name and the version.
func (r *Request) Validate() error {
	if err := protocol.RequireName(r.ID); err != nil {
		return err
	}
	if VersionNumber(r.Version) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "version is %s; it must be a positive integer as text, such as \"1\"", protocol.QuoteShort(r.Version))
	}
	return nil
}

// VersionNumber returns the number of a version in its canonical form, and 0 for other texts.
func VersionNumber(version string) int {
	n, err := strconv.ParseUint(version, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != version {
		return 0
	}
	return int(n)
}

// Version is a version of a function as clients know it.
type Version struct {
	Name            string              `json:"name"`
	Namespace       []string            `json:"namespace_path,omitempty"`
	ObjectID        string              `json:"object_id"`
	Location        string              `json:"location"`
	Version         string              `json:"version"`
	Image           Image               `json:"image"`
	Signature       Signature           `json:"signature"`
	SecretBindings  []SecretBinding     `json:"secret_bindings,omitempty"`
	CreatedAt       string              `json:"created_at"`
	CreatedAtMillis int64               `json:"created_at_millis"`
	Metadata        protocol.Properties `json:"metadata"`
	Disabled        bool                `json:"disabled"` // no runtime has proved it
}

// An Image stands for the code of a version. The descriptor has what makes the version apart
// from its signature.
type Image struct {
	ManifestDigest string     `json:"manifest_digest"` // of the definition
	Descriptor     Descriptor `json:"descriptor"`
	Source         bool       `json:"source"` // the artifact is source code
}

// A Descriptor says what runs a function.
type Descriptor struct {
	Artifact Artifact        `json:"artifact"`
	Runtime  json.RawMessage `json:"runtime"`
}

// CreateResponse names the job that makes the version.
type CreateResponse struct {
	JobID         string `json:"job_id"`
	TransactionID string `json:"transaction_id"` // the same
}

// HTTPStatus returns the status of the answer.
func (*CreateResponse) HTTPStatus() int { return http.StatusAccepted }

// DropResponse says whether there was a function.
type DropResponse struct {
	Dropped bool `json:"dropped"`
}

// ListRequest asks for the functions of a namespace.
type ListRequest struct {
	protocol.Common
	protocol.Page
}

// ListResponse has all versions of functions, by name and then by version.
type ListResponse struct {
	Functions protocol.List[Listed] `json:"functions"`
	PageToken string                `json:"page_token,omitempty"`
}

// A Listed is an entry of a list.
type Listed struct {
	Definition Version `json:"definition"`
}
