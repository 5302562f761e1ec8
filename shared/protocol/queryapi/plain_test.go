package queryapi

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
)

// ReadVector reads only a text that package json reads as the same numbers.
func FuzzReadVector(f *testing.F) {
	for _, text := range []string{
		`[1, -2.50, 1e3, 1.0, 0, -0, 0.5E-2]`, `{ "single_vector" : [ 0.1 , 12345678901234567890 ] }`, `{"single_vector":[1],"multi_vector":null}`, `{"single_vector":[1]`,
		`[]`, `[1,]`, `[,1]`, `[1 2]`, `[01]`, `[1.]`, `[.5]`, `[1e]`, `[+1]`, `[-]`, `[1.0-2]`, `[1e400]`, `[9007199254740993]`, `[0.000000000000000000123]`, `[[1]]`, `[1]]`, `[1`, `[-`, `[`, `{`, `{"single_vector"`, `{"single_vector":`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, length := ReadVector(data)
		if length == 0 {
			return
		}
		var want []float64
		if data[0] == '{' {
			var object map[string][]float64
			if err := json.Unmarshal(data[:length], &object); err != nil || len(object) != 1 {
				t.Fatalf("%q: %v, %v", data[:length], object, err)
			}
			want = object["single_vector"]
		} else if err := json.Unmarshal(data[:length], &want); err != nil {
			t.Fatalf("%q: %v", data[:length], err)
		}
		got := v.Vectors[0]
		if len(got) != len(want) || v.Several || v.check() != nil {
			t.Fatalf("%q is %v, want %v", data[:length], v, want)
		}
		for i := range want {
			if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
				t.Fatalf("%q: number %d is %v, want %v", data[:length], i, got[i], want[i])
			}
		}
	})
}

// A number is the nearest float64 to its text, as package strconv has it.
func FuzzReadNumber(f *testing.F) {
	for _, text := range []string{"0", "-0", "-0.0", "0.1", "9007199254740991", "9007199254740992.5", "0.1234567890123456789", "1e23", "123456789012345678", "1E-400"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return
		}
		got, length := readNumber([]byte(text))
		var want float64
		err := json.Unmarshal([]byte(text[:length]), &want)
		if length > 0 && (err != nil || math.Float64bits(got) != math.Float64bits(want)) {
			t.Fatalf("%q is %v, want %v (%v)", text[:length], got, want, err)
		}
		if err := json.Unmarshal([]byte(text), &want); err == nil && text[0] > ' ' && text[0] != 'n' && length == 0 {
			t.Fatalf("%q is not read, want %v", text, want)
		}
	})
}

// The short readers of a projection and of a text query read only what the general decoder reads as the same.
func FuzzPlainForms(f *testing.F) {
	for _, text := range []string{
		`["id", "st.x"]`, `{"column_names": ["a","b"] }`, `{"column_names":["a"],"column_names":["b"]}`, `{"column_names":[]}`, `["a",]`, `["a" "b"]`, `[""]`, `["\u0061"]`, `["é"]`, `["a"`,
		`{"query":"two words"}`, `{"string_query": {"query": ""}}`, `{"string_query":{"query":"a"},"columns":["x"]}`, `{"string_query":{"query":"a"}`, `{"query":"a"`, `{"query":{"match":{}}}`, `{`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if names := plainProjection(data); names != nil {
			var want []string
			object := map[string][]string{}
			if json.Unmarshal(data, &want) != nil {
				if err := json.Unmarshal(data, &object); err != nil || len(object) != 1 {
					t.Fatalf("%q: %v (%v)", data, object, err)
				}
				want = object["column_names"]
			}
			var got []string
			for _, column := range names {
				got = append(got, column.Name)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is %q, want %q", data, got, want)
			}
		}
		if text, ok := plainText(data); ok {
			type inside struct{ Query *string }
			var want struct {
				inside
				Text *inside `json:"string_query"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			if want.Text == nil {
				want.Text = &want.inside
			}
			if want.Text.Query == nil || *want.Text.Query != text {
				t.Fatalf("%q is %q", data, text)
			}
		}
	})
}
