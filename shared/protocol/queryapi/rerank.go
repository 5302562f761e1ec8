package queryapi

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"tiltyard/shared/protocol"
)

// Rerank selects how a query for a vector and words joins the two lists of rows. A row has the
// relevance weights.vector / (k + its rank by distance) + weights.text / (k + its rank by score), with
// ranks from 1. A row that is only in one list has only that summand.
type Rerank struct {
	Method  RerankMethod  `json:"method"`
	K       *int64        `json:"k"` // positive; nil is 60
	Weights RerankWeights `json:"weights"`
}

// RerankWeights are the weights of the two lists. They are not negative, and one of them is positive.
type RerankWeights struct {
	Vector *float64 `json:"vector"` // nil is 1
	Text   *float64 `json:"text"`   // nil is 1
}

// RerankMethod is how two lists of rows are joined.
type RerankMethod uint8

// The methods. Without one, it is reciprocal rank fusion.
const (
	RerankUnset RerankMethod = iota
	RerankRRF                // reciprocal rank fusion
)

var rerankMethods = protocol.NewEnum("rerank.method", "", "rrf")

// String returns the lowercase spelling, which is empty for RerankUnset.
func (m RerankMethod) String() string { return rerankMethods.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m RerankMethod) MarshalText() ([]byte, error) { return rerankMethods.Marshal(uint8(m)) }

// UnmarshalText accepts the spellings in any case.
func (m *RerankMethod) UnmarshalText(text []byte) error {
	return rerankMethods.Parse(text, (*uint8)(m))
}

// UnmarshalJSON refuses unknown fields, because ignoring one would change the order of the rows.
func (r *Rerank) UnmarshalJSON(data []byte) error {
	type fields Rerank
	var read fields
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return protocol.Errorf(protocol.InvalidInput, "rerank: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	*r = Rerank(read)
	return nil
}

// MaxRerankK bounds the constant of reciprocal rank fusion. With a large one all ranks are alike.
const MaxRerankK = 1_000_000

// check checks the constant and the weights.
func (r *Rerank) check() error {
	if err := protocol.AtMost("rerank.k", r.K, MaxRerankK); err != nil {
		return err
	}
	if r.K != nil && *r.K == 0 {
		return protocol.Errorf(protocol.InvalidInput, "rerank.k is 0; it must be positive")
	}
	heaviest := 0.0
	for _, w := range []struct {
		field string
		value *float64
	}{{"vector", r.Weights.Vector}, {"text", r.Weights.Text}} {
		weight := 1.0
		if w.value != nil {
			weight = *w.value
		}
		if !(weight >= 0 && weight <= math.MaxFloat32) {
			return protocol.Errorf(protocol.InvalidInput, "rerank.weights.%s is %g; it must be a number from 0 to the largest float32", w.field, weight)
		}
		heaviest = max(heaviest, weight)
	}
	if heaviest == 0 {
		return protocol.Errorf(protocol.InvalidInput, "rerank.weights are both 0; one of them must be positive")
	}
	return nil
}
