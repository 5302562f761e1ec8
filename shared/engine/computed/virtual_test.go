package computed_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"

	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/enginetest"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/multipart"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// Only columns of the same function are computed together.
func TestOpenReturnsTheMembersOfOneResult(t *testing.T) {
	_, table := enginetest.CreateVirtual(t, enginetest.VirtualColumns("Y29kZQ==", map[string]string{"a": "x", "b": "y"}), nil)
	if _, err := evolution.AddVirtualColumns(t.Context(), table, enginetest.VirtualColumns("b3RoZXI=", map[string]string{"c": "x"}), nil, nil); err != nil {
		t.Fatal(err)
	}
	err := engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
		c, err := computed.Open(ctx, d, "b", "")
		if err == nil && (len(c.Envelope.Outputs) != 2 || c.Envelope.Outputs[0].Name != "x" || c.Envelope.Outputs[1].Name != "y") {
			t.Errorf("outputs are %v", c.Envelope.Outputs)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The file of a function is used only if it has the digest in the metadata.
func TestOpenChecksTheDigestOfAFunctionFile(t *testing.T) {
	text := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("code"), 100))
	sum := sha256.Sum256([]byte(text))
	key := computed.EnvelopeFolder + hex.EncodeToString(sum[:])
	objects, table := enginetest.CreateVirtual(t, enginetest.VirtualColumns(key, map[string]string{"double": ""}), map[string]string{key: text})
	open := func() (content []byte, err error) {
		err = engine.Do(t.Context(), table, nil, func(ctx context.Context, d *dataset.Dataset) error {
			c, err := computed.Open(ctx, d, "double", "")
			if err != nil {
				return err
			}
			spec, err := c.Envelope.Spec(ctx)
			content = spec.Artifact
			return err
		})
		return content, err
	}
	if content, err := open(); err != nil || len(content) != 400 {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
	var err error
	for _, other := range []string{"forged", ""} {
		if other == "" {
			err = objects.Delete(t.Context(), multipart.Parts(table.Data()).Prefix+"/"+key, objectstore.Condition{})
		} else {
			_, err = objects.Put(t.Context(), multipart.Parts(table.Data()).Prefix+"/"+key, []byte(other), objectstore.Condition{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(); !protocol.HasCode(err, protocol.InvalidTableState) {
			t.Errorf("%q: error %v", other, err)
		}
	}
	for _, bad := range []string{"_udfs/../data/x", "_udfs/", "not base64"} {
		_, err := computed.ReadEnvelope(t.Context(), objects, "x", bad)
		var wrong *protocol.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}
