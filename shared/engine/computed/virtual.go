package computed

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/storage/objectstore"
)

// A virtual column, of the Lance Namespace protocol, contains its function: the metadata of the
// field has an envelope, which an executor unpacks, and the names of the input columns. Clients can
// run the function themselves and write such a column.
//
// Columns with the same function and inputs are members of one result, and their metadata names the
// members. One call computes all of them.

// Keys of the metadata of the field of a virtual column.
const (
	virtualKey   = "virtual_column" // "true"
	udfKey       = "virtual_column.udf"
	udfNameKey   = "virtual_column.udf_name"
	udfVersion   = "virtual_column.udf_version"
	udfBackend   = "virtual_column.udf_backend"
	udfInputsKey = "virtual_column.udf_inputs"
	memberKey    = "virtual_column.struct_field"
)

// EnvelopeFolder is the folder of a table with envelopes that are too large for its metadata. A
// file is named by the SHA-256 of its text; the metadata has the key of the file.
const EnvelopeFolder = "_udfs/"

// maxEnvelopeBytes bounds the envelopes that are read.
const maxEnvelopeBytes = 16 << 20

// isVirtual reports whether a column contains its own function.
func isVirtual(f *schema.Field) bool { return f.Metadata[virtualKey] == "true" }

// An Envelope is the function of a virtual column.
type Envelope struct {
	Name, Version, Backend string
	Inputs, Outputs        []arrow.Field

	text  string // base64, or the key of a file with base64
	store objectstore.Store
	root  string // of the table
}

// openVirtual opens the function of a virtual column.
func (c *Column) openVirtual(ctx context.Context, f *schema.Field) error {
	d := c.dataset
	var inputs []string
	if err := json.Unmarshal([]byte(f.Metadata[udfInputsKey]), &inputs); err != nil {
		return protocol.Errorf(protocol.InvalidTableState, "the metadata %s of column %q is no JSON array of columns; drop the column and declare it again", udfInputsKey, f.Name)
	}
	b := &schemaapi.FunctionBinding{ID: virtualID(f), Function: schemaapi.FunctionReference{Name: f.Metadata[udfNameKey], Version: f.Metadata[udfVersion]}}
	for _, path := range inputs {
		b.Inputs = append(b.Inputs, schemaapi.InputBinding{Parameter: path, FieldPath: path})
	}
	a := &application{dataset: d, binding: b}
	if err := a.bind(ctx, d); err != nil {
		return err
	}
	c.Envelope = &Envelope{Name: b.Function.Name, Version: b.Function.Version, Backend: f.Metadata[udfBackend], text: f.Metadata[udfKey]}
	c.Envelope.store, c.Envelope.root = d.Main()
	for i, p := range a.params {
		typ := arrow.DataType(arrow.BinaryTypes.LargeBinary) // the bytes of a blob
		if p.bound != nil {
			typ = p.bound.Type()
		}
		c.Envelope.Inputs = append(c.Envelope.Inputs, arrow.Field{Name: inputs[i], Type: typ, Nullable: true})
	}
	for i, other := range d.Schema().Fields {
		if !isVirtual(other) || other.HoldsBlobs() || virtualID(other) != b.ID || other != f && other.Metadata[memberKey] == "" {
			continue
		}
		member := other.Metadata[memberKey]
		if member == "" {
			member = "result"
		}
		b.Outputs = append(b.Outputs, schemaapi.OutputMapping{ResultField: member, OutputName: other.Name, Nullable: true})
		a.results = append(a.results, arrow.Field{Name: member, Type: storedAs(d.ArrowSchema().Field(i).Type), Nullable: true})
	}
	c.Envelope.Outputs = a.results
	c.Binding, c.values, c.names = b, a, a.columns()
	c.Name, c.witness, c.Definition = c.names[0], f.Name, staleness.Definition(b.ID)
	return c.readsOf(b)
}

// virtualID derives an id from the function of a virtual column and its inputs. Columns with the
// same id are computed together.
func virtualID(f *schema.Field) string {
	h := sha256.New()
	for _, key := range []string{udfKey, udfNameKey, udfVersion, udfBackend, udfInputsKey} {
		fmt.Fprintf(h, "%d:%s", len(f.Metadata[key]), f.Metadata[key])
	}
	return "virtual_" + hex.EncodeToString(h.Sum(nil))
}

// storedAs returns the storage type of an extension type, and other types unchanged.
func storedAs(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return e.StorageType()
	}
	return t
}

// Spec reads the function and returns it in the form for executors.
func (e *Envelope) Spec(ctx context.Context) (udf.Spec, error) {
	content, err := ReadEnvelope(ctx, e.store, e.root, e.text)
	if err != nil {
		return udf.Spec{}, fmt.Errorf("function %.80s: %w", e.Name, err)
	}
	runtime, err := json.Marshal(udf.EnvelopeRuntime{Kind: udf.Envelope, Backend: e.Backend})
	sum := sha256.Sum256(content)
	return udf.Spec{
		Name: e.Name, Version: e.Version, Kind: udf.Envelope, Artifact: content, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		Runtime: runtime, Inputs: e.Inputs, Outputs: e.Outputs,
	}, err
}

// ReadEnvelope returns the bytes of an envelope. text is base64, or the key of a file with base64
// in the table at root. The memory is charged to the context.
func ReadEnvelope(ctx context.Context, store objectstore.Store, root, text string) ([]byte, error) {
	if digest, ok := strings.CutPrefix(text, EnvelopeFolder); ok {
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
			return nil, protocol.Errorf(protocol.InvalidTableState, "its file has the name %.80q, which is no SHA-256; declare it again", digest)
		}
		file, err := readEnvelopeFile(ctx, store, root+"/"+text)
		if err != nil {
			return nil, err
		}
		if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != digest {
			return nil, protocol.Errorf(protocol.InvalidTableState, "the file %s of its table has another SHA-256; declare it again", text)
		}
		text = string(file)
	}
	// The decoded bytes take less memory than the text.
	if _, err := memory.Take(ctx, int64(len(text))); err != nil {
		return nil, err
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "its envelope is not base64: %w", err)
	}
	return content, nil
}

// readEnvelopeFile reads a file of bounded size.
func readEnvelopeFile(ctx context.Context, store objectstore.Store, key string) ([]byte, error) {
	_, info, err := store.GetRanges(ctx, key)
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return nil, protocol.Errorf(protocol.InvalidTableState, "its file is gone; declare it again")
	case err != nil:
		return nil, err
	case info.Size > maxEnvelopeBytes:
		return nil, protocol.Errorf(protocol.InvalidTableState, "its file has %d bytes; at most %d are read", info.Size, maxEnvelopeBytes)
	}
	if _, err := memory.Take(ctx, 2*info.Size); err != nil { // twice: as bytes and as text
		return nil, err
	}
	data, _, err := store.Get(ctx, key)
	return data, err
}
