package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
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
		`{"a": "`, `{"a": "\`, `{"a": 1}}`, `{"a": [1}`, `{"a": 1,}`, `{,}`, `{"a" 1}`, `{`, `}`, `[`, `,`, ``, ` {}`, `{} {}`, `{"a":1 2}`, `{}""`, `{"a":{}"b"}`,
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

// A request whose vector is parsed while the body is copied is the same as one from the general decoder, and so is its error.
func FuzzVectorOfBody(f *testing.F) {
	for _, body := range []string{
		`{"vector": {"single_vector": [1, 2.50e1]}, "k": 10}`, `{"vector":[1.0],"Vector":[2]}`, `{"Vector":[2],"vector":[1.0]}`, `{"vector":[1],"vector":[2]}`, `{"vector":[1],"\u0076ector":[2]}`,
		`{"vector"::[1]}`, `{"vector":[1][2]}`, `{"vector":[1] 2}`, `{"vector":[1`, `{"vector":`, `{"vector"`, `{"vector" [1]}`, `{"vector":[1e999]}`, `{"vector":[1],"k":"a"}`, `{"vector":[[1],[2]]}`,
		`{"query":{"vector":[1]}}`, `{"vector":[1]}}`, `{"vector":[1]},`, `[{"vector":[1]}]`, `{"k":1 "vector":[1]}`, `{"id":["vector",[1]]}`, `{"filter":"vector"}`,
	} {
		f.Add([]byte(body))
	}
	type plain queryapi.Request // has no method SearchVector
	f.Fuzz(func(t *testing.T, body []byte) {
		var want plain
		var got queryapi.Request
		wantErr, gotErr := unmarshal(body, &want), unmarshal(body, &got)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("%q: error %v, want %v", body, gotErr, wantErr)
		}
		if wantErr == nil && !reflect.DeepEqual(got, queryapi.Request(want)) {
			t.Fatalf("%q is %+v, want %+v", body, got, want)
		}
	})
}

// Keys are compared in objects of any size, by a list or a map.
func TestDuplicateKeysAreFoundInLargeObjects(t *testing.T) {
	for _, count := range []int{2, fewKeys - 1, fewKeys, fewKeys + 1, 1000} {
		var body strings.Builder
		for i := range count {
			fmt.Fprintf(&body, `"key %d": {"key 0": 1, "a": {}}, `, i)
		}
		if err := unmarshal([]byte("{"+body.String()+`"x": 1}`), new(struct{})); err != nil {
			t.Errorf("%d keys: %v", count, err)
		}
		for _, twice := range []int{0, count / 2, count - 1} {
			want := fmt.Sprintf(`body holds the field "key %d" twice`, twice)
			if err := unmarshal(fmt.Appendf(nil, `{%s"key %d": 1}`, body.String(), twice), new(struct{})); err == nil || err.Error() != want {
				t.Errorf("%d keys: %v, want %s", count, err, want)
			}
		}
	}
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
