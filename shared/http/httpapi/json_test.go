package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tiltyard/shared/protocol/queryapi"
)

// Of a body that is not valid JSON the normalizer makes none that is, and of a valid one it makes one that means the
// same.
func FuzzNormalizer(f *testing.F) {
	for _, body := range []string{
		`{"a": [1, -2.50, 1e3, 1.0, 0, -0, 0.5E-2], "b": {"c": "x\"\\", "d": null}, "é": true}`,
		`{"a": 01}`, `{"a": 1.e5}`, `{"a": .5}`, `{"a": 1e}`, `{"a": +1}`, `{"a": -}`, `{"a": 1.0-2}`, `{"a": 00.0}`, `{"a": 1e5.0}`,
		`{"a": "`, `{"a": "\`, `{"a": 1}}`, `{"a": [1}`, `{"a": 1,}`, `{,}`, `{"a" 1}`, `{`, `}`, `[`, `,`, ``, ` {}`, `{} {}`, `{"a":1 2}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n := normalizer{in: body}
		if n.run() != nil {
			return
		}
		if json.Valid(n.out) != json.Valid(body) {
			t.Fatalf("%q is valid: %t, and %q, which it becomes: %t", body, json.Valid(body), n.out, json.Valid(n.out))
		}
		var was, is any
		if json.Unmarshal(body, &was) == nil && (json.Unmarshal(n.out, &is) != nil || fmt.Sprint(was) != fmt.Sprint(is)) {
			t.Fatalf("%q becomes %q", body, n.out)
		}
	})
}

func BenchmarkUnmarshalVector(b *testing.B) {
	number := "0.1234567890123456, -0.0009876543210123, "
	body := `{"vector": {"single_vector": [` + strings.Repeat(number, 383) + `1.0, -0.5]}, "k": 10, "columns": {"column_names": ["id"]}}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var req queryapi.Request
		if err := unmarshal([]byte(body), &req); err != nil || len(req.Vector.Vectors[0]) != 768 {
			b.Fatal(err)
		}
	}
}
