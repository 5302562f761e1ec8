package calling

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/function"
	"tiltyard/shared/protocol"
)

// leaky is a caller that shows what it knows.
type leaky struct{ function.Caller }

func (leaky) Call(context.Context, arrow.RecordBatch) (function.Result, error) {
	return function.Result{Failed: []function.Failure{{Type: "canary", Message: "the key canary-long and canary"}}}, errors.New("sent canary")
}

// No value of a secret gets out by an error or a failure, also where one value is a part of another.
func TestValuesOfSecretsAreMasked(t *testing.T) {
	m := &masked{leaky{}, []string{"canary-long", "canary", ""}}
	result, err := m.Call(t.Context(), nil)
	if err == nil || err.Error() != "sent ***" {
		t.Errorf("got error %v", err)
	}
	if f := result.Failed[0]; f.Type != "***" || f.Message != "the key *** and ***" {
		t.Errorf("got %+v", f)
	}
	known := mask(&protocol.Error{Code: protocol.InvalidInput, Message: "a canary", Detail: "canary", Err: errors.New("canary")}, m.values)
	if !protocol.HasCode(known, protocol.InvalidInput) || strings.Contains(known.Error(), "canary") {
		t.Errorf("got %v, want the code without values", known)
	}
	if other := context.Canceled; !errors.Is(mask(other, m.values), other) {
		t.Error("an error without values is another one")
	}
}
