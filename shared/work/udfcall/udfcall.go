package udfcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/engine/udf"
	builtins "tiltyard/shared/engine/udf/builtin"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/storage/outage"
)

// A Directory opens the functions of a catalog with the configured runtimes.
type Directory struct {
	Names    *catalog.Catalog
	Rights   auth.Rights // of the principals that use the functions
	Runtimes udf.Runtimes
	Secrets  secretbox.Opener // nil if no secrets can be decrypted
}

// Find returns the function version of a reference. The error has the kind
// [protocol.FunctionNotFound] if the version no longer exists, and is InvalidInput if another
// function has taken the name.
func Find(ctx context.Context, names *catalog.Catalog, ref schemaapi.FunctionReference) (*Found, error) {
	number := functionapi.VersionNumber(ref.Version)
	record, version, err := names.Functions.Version(ctx, ref.ID(), number)
	if err != nil {
		return nil, err
	}
	name := strings.Join(ref.ID(), protocol.DefaultDelimiter)
	if record.UID != ref.ObjectID || version.Digest != ref.ManifestDigest {
		return nil, protocol.Errorf(protocol.InvalidInput, "function %s version %s is another one than that of the application: it was dropped and created again; open it again", name, ref.Version)
	}
	found := &Found{Artifact: version.Artifact}
	if err := json.Unmarshal(version.Definition, &found.Definition); err != nil {
		return nil, err
	}
	if !version.Proved {
		return nil, functions.Unproved(ref.ID(), ref.Version, found.Definition.RuntimeKind())
	}
	return found, nil
}

// Found is a version of a function.
type Found struct {
	Definition functionapi.Definition
	Artifact   string // key of its content; "" for a built-in function
}

// Fit returns the signature for a use with the actual column types. Only built-in functions accept
// types other than the declared ones.
func (f *Found) Fit(ref schemaapi.FunctionReference, inputs []schemaapi.InputBinding) functionapi.Signature {
	signature := f.Definition.Signature
	if !builtin.IsReserved(ref.ID()) || len(inputs) != len(signature.Inputs) {
		return signature
	}
	signature.Inputs = slices.Clone(signature.Inputs)
	for i := range inputs {
		signature.Inputs[i].ArrowType = inputs[i].ArrowType
	}
	return signature
}

// CheckUse returns an error for arguments and types that a built-in function rejects. Other
// functions are checked when they are opened.
func (f *Found) CheckUse(ctx context.Context, b *schemaapi.FunctionBinding) error {
	if f.Definition.RuntimeKind() != builtin.Runtime {
		return nil
	}
	spec, err := f.spec(b, nil)
	if err != nil {
		return err
	}
	_, err = builtins.Runtime{}.Open(ctx, spec)
	return err
}

// spec returns the specification of a function for a binding, without the secrets.
func (f *Found) spec(b *schemaapi.FunctionBinding, content []byte) (udf.Spec, error) {
	definition := f.Definition
	definition.Signature = f.Fit(b.Function, b.Inputs)
	spec, err := SpecOf(b.Function.ID(), definition, content)
	if err != nil {
		return spec, err
	}
	spec.Version, spec.Binding = b.Function.Version, b.ID
	if spec.Initialization, err = b.InitializationRow(); err != nil {
		return spec, protocol.Errorf(protocol.InvalidTableState, "the initialization of the use %s is malformed: %w", b.ID, err)
	}
	return spec, nil
}

// Check returns an error if the principal of the context may not use a function or one of its secrets.
func Check(ctx context.Context, names *catalog.Catalog, ref schemaapi.FunctionReference) error {
	found, err := Find(ctx, names, ref)
	if err != nil {
		return err
	}
	for _, b := range found.Definition.SecretBindings {
		if err := auth.CheckSecret(ctx, b.Secret.ID()); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the function of a binding for a job, with the rights of the context's principal. It also returns the declared
// parameters.
func (d Directory) Open(ctx context.Context, b *schemaapi.FunctionBinding, job string) (udf.Caller, []arrow.Field, error) {
	found, err := Find(ctx, d.Names, b.Function)
	if err != nil {
		return nil, nil, err
	}
	kind := found.Definition.RuntimeKind()
	runtime := d.Runtimes[kind]
	if runtime == nil {
		return nil, nil, &protocol.Error{
			Code: protocol.Unsupported, Message: "function " + strings.Join(b.Function.ID(), protocol.DefaultDelimiter) + " needs a runtime of kind " + kind + ", which the workers do not have",
			Detail: "the operator configures one: TILTYARD_EXECUTOR, or TILTYARD_WASM",
		}
	}
	var content []byte
	if found.Artifact != "" {
		if content, _, err = d.Names.Functions.Artifact(ctx, found.Artifact, found.Definition.Artifact.Digest); err != nil {
			return nil, nil, err
		}
	}
	spec, err := found.spec(b, content)
	if err != nil {
		return nil, nil, err
	}
	spec.Job = job
	conceal, err := d.secrets(ctx, found.Definition.SecretBindings, spec.Environment, func(err error) error { return err })
	if err != nil {
		return nil, nil, err
	}
	caller, err := runtime.Open(ctx, spec)
	if err != nil {
		// Errors of the runtime may quote the environment, which contains secrets.
		return nil, nil, mask(err, conceal)
	}
	return &masked{caller, conceal}, spec.Inputs, nil
}

// OpenEnvelope opens a function from an envelope for a job. It calls the function with an empty
// batch first, because registration has not proved that the function can be loaded.
func (d Directory) OpenEnvelope(ctx context.Context, spec udf.Spec, job string) (udf.Caller, error) {
	runtime := d.Runtimes[udf.Envelope]
	if runtime == nil {
		var declared udf.EnvelopeRuntime
		if err := json.Unmarshal(spec.Runtime, &declared); err != nil {
			return nil, err
		}
		return nil, udf.NoBackend(declared.Backend)
	}
	spec.Job = job
	caller, err := runtime.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := callNothing(ctx, caller, spec); err != nil {
		return nil, errors.Join(err, caller.Close())
	}
	return caller, nil
}

// secrets adds the values of secrets to an environment, and returns a concealer for them. It skips
// a secret if refuse returns nil for its error.
func (d Directory) secrets(ctx context.Context, bindings []functionapi.SecretBinding, environment map[string]string, refuse func(error) error) (*udf.Concealer, error) {
	var values []string
	for _, b := range bindings {
		value, err := d.secret(ctx, b)
		if err != nil {
			if err := refuse(err); err != nil {
				return nil, err
			}
			continue
		}
		environment[b.Variable] = value
		values = append(values, value)
	}
	return udf.NewConcealer(values...), nil
}

// secret returns the value of a secret. Its errors name the secret and the variable.
func (d Directory) secret(ctx context.Context, b functionapi.SecretBinding) (string, error) {
	id := b.Secret.ID()
	if err := auth.CheckSecret(ctx, id); err != nil {
		return "", err
	}
	name := strings.Join(id, protocol.DefaultDelimiter)
	record, err := d.Names.Secrets.Get(ctx, id)
	switch {
	case protocol.HasCode(err, protocol.TableNotFound):
		return "", protocol.Errorf(protocol.InvalidInput, "the variable %s needs the secret %s, which does not exist", b.Variable, name)
	case err != nil:
		return "", err
	case d.Secrets == nil:
		return "", protocol.Errorf(protocol.Unsupported, "the variable %s needs the secret %s, and the workers have no keys of secrets", b.Variable, name)
	}
	value, err := d.Secrets.Open(ctx, id, record.Sealed)
	if err != nil {
		return "", cannotOpen(b.Variable, name, err)
	}
	return string(value), nil
}

// cannotOpen returns the error for a variable whose secret cannot be decrypted. An outage of the key service stays an
// outage, which is retried, because the secret is still valid.
func cannotOpen(variable, secret string, err error) error {
	if outage.Of(err) != nil {
		return fmt.Errorf("open the secret %s: %w", secret, err)
	}
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: "the variable " + variable + " needs the secret " + secret + ", which cannot be opened", Detail: "give the secret its value again", Err: err,
	}
}

// masked is a caller that removes the values of secrets from errors and failures.
type masked struct {
	udf.Caller
	conceal *udf.Concealer
}

// Call calls the function and masks its errors and failures.
func (m *masked) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	result, err := m.Caller.Call(ctx, in)
	for i := range result.Failed {
		f := &result.Failed[i]
		f.Type, f.Message = m.conceal.Hide(f.Type), m.conceal.Hide(f.Message)
	}
	return result, mask(err, m.conceal)
}

// Close closes the caller and masks its error.
func (m *masked) Close() error { return mask(m.Caller.Close(), m.conceal) }

// mask removes secret values from an error. An error that contains one keeps its code and message, but loses its type and
// causes.
func mask(err error, conceal *udf.Concealer) error {
	if err == nil {
		return nil
	}
	known := new(protocol.Error)
	hasCode := errors.As(err, &known)
	for _, text := range []string{err.Error(), known.Object, known.Message, known.Logged, known.Detail} {
		if conceal.Hide(text) == text {
			continue
		}
		if !hasCode {
			return errors.New(conceal.Hide(err.Error()))
		}
		return &protocol.Error{
			Code: known.Code, Kind: known.Kind, TooLarge: known.TooLarge, Damaged: known.Damaged, Unsettled: known.Unsettled,
			Object: conceal.Hide(known.Object), Message: conceal.Hide(known.Message), Logged: conceal.Hide(known.Logged), Detail: conceal.Hide(known.Detail),
		}
	}
	return err
}
