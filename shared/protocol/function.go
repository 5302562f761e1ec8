package protocol

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
)

// functionOperations are the rows of the operations on functions.
var functionOperations = []Operation{
	{
		Name: "CreateFunction", Methods: post, Path: "/v1/function/{id}/create", Group: GroupFunction, Access: Write, Origin: LanceDB,
		Request: new(CreateFunctionRequest), Response: new(CreateFunctionResponse), Summary: "Create a version of a function by a job",
		LeastBody: `{"artifact":{"kind":"sql_expression","digest":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","content":{"encoding":"base64","data":"eA=="}},"signature":{"inputs":[],"output":{"kind":"scalar","arrow_type":"utf8","nullable":false}},"runtime":{"kind":"sql"}}`,
	},
	{
		Name: "DescribeFunction", Methods: post, Path: "/v1/function/{id}/describe", Group: GroupFunction, Access: Read, Origin: LanceDB,
		Request: new(FunctionRequest), Response: new(FunctionVersion), Summary: "Describe a version of a function",
		LeastBody: `{"version":"1"}`,
	},
	{
		Name: "DropFunction", Methods: post, Path: "/v1/function/{id}/drop", Group: GroupFunction, Access: Write, Origin: LanceDB,
		Request: new(FunctionRequest), Response: new(DropFunctionResponse), Summary: "Drop a version of a function",
		Frees: true, LeastBody: `{"version":"1"}`,
	},
	{
		Name: "ListFunctions", Methods: list, Path: "/v1/namespace/{id}/function/list", Group: GroupFunction, Access: Read, Origin: LanceDB,
		Request: new(ListFunctionsRequest), Response: new(ListFunctionsResponse), Summary: "List the functions in a namespace",
	},
}

// The limits of functions.
const (
	MaxFunctionBody       = 16 << 20 // bytes of a request that creates one
	MaxFunctionNameBytes  = 255      // "." and "-" take three bytes each
	MaxFunctionDefinition = 64 << 10 // bytes of JSON, without the content of the artifact
	MaxFunctionFields     = 256      // parameters, outputs, or fields of initialization
)

// A FunctionDefinition is what makes a version of a function. The content of the artifact is apart.
type FunctionDefinition struct {
	Artifact       FunctionArtifact  `json:"artifact"`
	Signature      FunctionSignature `json:"signature"`
	Runtime        json.RawMessage   `json:"runtime"`
	SecretBindings []SecretBinding   `json:"secret_bindings,omitempty"`
}

// A FunctionArtifact is the code of a function.
type FunctionArtifact struct {
	Kind       string           `json:"kind"`
	Digest     string           `json:"digest"` // of the decoded content: sha256: and hexadecimal digits
	Entrypoint string           `json:"entrypoint,omitempty"`
	Adapter    *FunctionAdapter `json:"adapter,omitempty"`
}

// IsSource reports whether the content is text that people write.
func (a FunctionArtifact) IsSource() bool { return a.Kind != "wasm_module" }

// A FunctionAdapter says how a runtime calls the code.
type FunctionAdapter struct {
	Kind    string `json:"kind"`
	Version uint32 `json:"version"`
}

// A FunctionSignature has the parameters of a function, what it returns, and the constants that each
// use of it gives.
type FunctionSignature struct {
	Inputs         List[FunctionField] `json:"inputs"`
	Output         FunctionOutput      `json:"output"`
	Initialization []FunctionField     `json:"initialization,omitempty"`
}

// A FunctionField is a parameter, or a field of a result.
type FunctionField struct {
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

// A FunctionOutput is what a function returns.
type FunctionOutput struct {
	Kind      string          `json:"kind"`
	ArrowType string          `json:"arrow_type,omitempty"` // of a scalar
	Nullable  *bool           `json:"nullable,omitempty"`   // of a scalar
	Fields    []FunctionField `json:"fields,omitempty"`
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

// CreateFunctionRequest asks for a version of a function.
type CreateFunctionRequest struct {
	Common
	Artifact *struct {
		FunctionArtifact
		Content *FunctionContent `json:"content"`
	} `json:"artifact"`
	Signature      *FunctionSignature `json:"signature"`
	Runtime        json.RawMessage    `json:"runtime"`
	SecretBindings []SecretBinding    `json:"secret_bindings"`

	content []byte
}

// FunctionContent is the content of an artifact.
type FunctionContent struct {
	Encoding string `json:"encoding"`
	Data     string `json:"data"`
}

// Definition returns the definition of the version.
func (r *CreateFunctionRequest) Definition() FunctionDefinition {
	return FunctionDefinition{r.Artifact.FunctionArtifact, *r.Signature, r.Runtime, r.SecretBindings}
}

// Content returns the decoded content of the artifact. [CreateFunctionRequest.Validate] sets it.
func (r *CreateFunctionRequest) Content() []byte { return r.content }

// Validate checks all that can be known without the runtime and the catalog. It decodes the content of
// the artifact and compares it with the digest.
func (r *CreateFunctionRequest) Validate() error {
	if err := checkFunctionName(r.ID); err != nil {
		return err
	}
	switch {
	case r.Artifact == nil:
		return Errorf(InvalidInput, "artifact is required: an object with kind, digest and content")
	case r.Signature == nil:
		return Errorf(InvalidInput, "signature is required: an object with inputs and output")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Runtime); err != nil {
		return Errorf(InvalidInput, "runtime is required: an object with a kind")
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
	if err == nil && len(encoded) > MaxFunctionDefinition {
		return Errorf(InvalidInput, "signature, runtime and secret_bindings have %d bytes together; at most %d are possible", len(encoded), MaxFunctionDefinition)
	}
	return err
}

var (
	wordPattern     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	functionPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,254}$`)
)

// checkFunctionName refuses names that LanceDB's clients cannot write.
func checkFunctionName(id []string) error {
	if err := RequireName(id); err != nil {
		return err
	}
	name := id[len(id)-1]
	if !functionPattern.MatchString(name) || escapedBytes(name) > MaxFunctionNameBytes {
		return Errorf(InvalidInput, "%s cannot name a function: names consist of letters of ASCII, digits, _, . and -, begin with a letter or _, and have at most %d bytes, of which . and - take three each",
			quoteShort(name), MaxFunctionNameBytes)
	}
	return nil
}

func (r *CreateFunctionRequest) decodeArtifact() error {
	a := r.Artifact
	if !wordPattern.MatchString(a.Kind) {
		return Errorf(InvalidInput, "artifact.kind is %s; it must be a word such as sql_expression or python_callable", quoteShort(a.Kind))
	}
	if len(a.Entrypoint) > 1024 {
		return Errorf(InvalidInput, "artifact.entrypoint has %d bytes; at most 1024 are possible", len(a.Entrypoint))
	}
	if a.Content == nil || a.Content.Encoding != "base64" {
		return Errorf(InvalidInput, "artifact.content is required: an object with encoding base64 and data")
	}
	content, err := base64.StdEncoding.DecodeString(a.Content.Data)
	if err != nil {
		return Errorf(InvalidInput, "artifact.content.data is not base64: %w", err)
	}
	if digest := DigestOf(content); a.Digest != digest {
		return Errorf(InvalidInput, "artifact.digest is not that of the content, which is %s", digest)
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
func (d FunctionDefinition) Digest() (string, error) {
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

// RuntimeKind returns the kind of a runtime that [CreateFunctionRequest.Validate] has accepted.
func (d FunctionDefinition) RuntimeKind() string {
	var runtime functionRuntime
	_ = json.Unmarshal(d.Runtime, &runtime)
	return runtime.Kind
}

// Environment returns the variables that the runtime declares.
func (d FunctionDefinition) Environment() map[string]string {
	var runtime functionRuntime
	_ = json.Unmarshal(d.Runtime, &runtime)
	return runtime.Env
}

// functionRuntime has the fields of a runtime that are looked at here.
type functionRuntime struct {
	Kind        string            `json:"kind"`
	Python      string            `json:"python_version"`
	Environment *json.RawMessage  `json:"environment"`
	Env         map[string]string `json:"env"`
	GPU         *json.RawMessage  `json:"gpu"`
}

// checkRuntime returns the variables that a runtime declares.
func checkRuntime(raw json.RawMessage) (map[string]string, error) {
	var r functionRuntime
	if raw[0] != '{' {
		return nil, Errorf(InvalidInput, "runtime must be an object with a kind")
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, Errorf(InvalidInput, "runtime has a field of another type than it should: %w", err)
	}
	if !wordPattern.MatchString(r.Kind) {
		return nil, Errorf(InvalidInput, "runtime.kind is %s; it must be a word such as sql or python", quoteShort(r.Kind))
	}
	if r.Kind == "python" || r.Kind == "python_v2" {
		switch gpu := r.GPU != nil && string(*r.GPU) == "true"; {
		case r.Python == "" || r.Environment == nil:
			return nil, Errorf(InvalidInput, "runtime of kind %s needs python_version and environment", r.Kind)
		case r.Kind == "python" && r.GPU != nil && string(*r.GPU) != "null":
			return nil, Errorf(InvalidInput, "runtime.gpu needs the kind python_v2")
		case r.Kind == "python_v2" && !gpu:
			return nil, Errorf(InvalidInput, "runtime.gpu must be true in the kind python_v2")
		}
	}
	for variable := range r.Env {
		if !variablePattern.MatchString(variable) {
			return nil, Errorf(InvalidInput, "runtime.env has %s, which is no name of a variable", quoteShort(variable))
		}
	}
	return r.Env, nil
}

// checkBindings checks bindings of secrets beside the variables that the runtime declares.
func checkBindings(bindings []SecretBinding, env map[string]string) error {
	bound := map[string]bool{}
	for i, b := range bindings {
		_, declared := env[b.Variable]
		name := SecretRequest{Common: Common{ID: b.Secret.ID()}}
		switch {
		case b.Kind != "env":
			return Errorf(InvalidInput, "secret_bindings[%d].kind is %s; only env is possible", i, quoteShort(b.Kind))
		case !variablePattern.MatchString(b.Variable):
			return Errorf(InvalidInput, "secret_bindings[%d].variable is %s, which is no name of a variable", i, quoteShort(b.Variable))
		case bound[b.Variable], declared:
			return Errorf(InvalidInput, "the variable %s is given twice: by secret_bindings[%d], and by runtime.env or another binding", quoteShort(b.Variable), i)
		}
		if err := cmp.Or(CheckID(name.ID), name.Validate()); err != nil {
			return Errorf(InvalidInput, "secret_bindings[%d].secret_ref: %w", i, err)
		}
		bound[b.Variable] = true
	}
	return nil
}

// FunctionRequest names a version of a function.
type FunctionRequest struct {
	Common
	Version string `json:"version"`
}

// Validate checks the name and the version.
func (r *FunctionRequest) Validate() error {
	if err := RequireName(r.ID); err != nil {
		return err
	}
	if FunctionNumber(r.Version) == 0 {
		return Errorf(InvalidInput, "version is %s; it must be a positive integer as text, such as \"1\"", quoteShort(r.Version))
	}
	return nil
}

// FunctionNumber returns the number of a version that is written in its only form, and 0 for other texts.
func FunctionNumber(version string) int {
	n, err := strconv.ParseUint(version, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != version {
		return 0
	}
	return int(n)
}

// FunctionVersion is a version of a function as clients know it.
type FunctionVersion struct {
	Name            string            `json:"name"`
	Namespace       []string          `json:"namespace_path,omitempty"`
	ObjectID        string            `json:"object_id"`
	Location        string            `json:"location"`
	Version         string            `json:"version"`
	Image           FunctionImage     `json:"image"`
	Signature       FunctionSignature `json:"signature"`
	SecretBindings  []SecretBinding   `json:"secret_bindings,omitempty"`
	CreatedAt       string            `json:"created_at"`
	CreatedAtMillis int64             `json:"created_at_millis"`
	Metadata        Properties        `json:"metadata"`
	Disabled        bool              `json:"disabled"` // no runtime has proved it
}

// A FunctionImage stands for the code of a version. The descriptor has what makes the version apart
// from its signature.
type FunctionImage struct {
	ManifestDigest string             `json:"manifest_digest"` // of the definition
	Descriptor     FunctionDescriptor `json:"descriptor"`
	Source         bool               `json:"source"` // the artifact is source code
}

// A FunctionDescriptor says what runs a function.
type FunctionDescriptor struct {
	Artifact FunctionArtifact `json:"artifact"`
	Runtime  json.RawMessage  `json:"runtime"`
}

// CreateFunctionResponse names the job that makes the version.
type CreateFunctionResponse struct {
	JobID         string `json:"job_id"`
	TransactionID string `json:"transaction_id"` // the same
}

// HTTPStatus returns the status of the answer.
func (*CreateFunctionResponse) HTTPStatus() int { return http.StatusAccepted }

// DropFunctionResponse says whether there was a function.
type DropFunctionResponse struct {
	Dropped bool `json:"dropped"`
}

// ListFunctionsRequest asks for the functions of a namespace.
type ListFunctionsRequest struct {
	Common
	Page
}

// ListFunctionsResponse has all versions of functions, by name and then by version.
type ListFunctionsResponse struct {
	Functions List[ListedFunction] `json:"functions"`
	PageToken string               `json:"page_token,omitempty"`
}

// A ListedFunction is an entry of a list.
type ListedFunction struct {
	Definition FunctionVersion `json:"definition"`
}
