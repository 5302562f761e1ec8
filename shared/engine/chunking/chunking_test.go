package chunking

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
)

func pieces(t testing.TB, name, text string, args ...any) []string {
	t.Helper()
	split, err := Find(name).With(args...)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for c := range split(text) {
		piece := c.Text
		if c.Path != nil {
			piece = strings.Join(c.Path, "/") + ": " + piece
		}
		all = append(all, piece)
	}
	return all
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		name, text string
		args       []any
		want       []string
	}{
		{"split_text", "", []any{int64(3)}, nil},
		{"split_text", "abcdefgh", []any{int64(3)}, []string{"abc", "def", "gh"}},
		{"split_text", "abcdef", []any{int64(3)}, []string{"abc", "def"}},
		{"split_text", "abcdefgh", []any{int64(4), int64(1)}, []string{"abcd", "defg", "gh"}},
		{"split_text", "abcdefg", []any{int64(4), int64(1)}, []string{"abcd", "defg"}},
		{"split_text", "abcde", []any{int64(4), int64(3)}, []string{"abcd", "bcde"}},
		{"split_text", "e\u0301👩‍👩‍👧🇩🇪🇫🇷\r\n", []any{int64(1)}, []string{"e\u0301", "👩‍👩‍👧", "🇩🇪", "🇫🇷", "\r\n"}},
		{"split_text", " one, two  three four.", []any{int64(2), int64(0), "words"}, []string{" one, two  ", "three four."}},
		{"split_text", "a-b c-d", []any{int64(1), int64(0), "whitespace"}, []string{"a-b ", "c-d"}},
		{"split_text", "x \u06001 y", []any{int64(1), int64(0), "words"}, []string{"x \u06001 ", "y"}}, // the sign belongs to the digit
		{"split_lines", "a\n\nb\r\nc", nil, []string{"a", "", "b", "c"}},
		{"split_lines", "a\n", nil, []string{"a"}},
		{"split_sentences", "One. Two (yes?) \"Three!\"  four e.g. five. 6.", nil, []string{"One. ", "Two (yes?) ", "\"Three!\"  four e.g. five. ", "6."}},
		{"split_sentences", "一。二！」三", nil, []string{"一。", "二！」", "三"}},
		{"split_sentences", "a heading\n\nthen text", nil, []string{"a heading\n\n", "then text"}},
		{"json_rows", ` [1, "a,]\"" ,{"b":[2]},[ ], null ]`, nil, []string{"1", `"a,]\""`, `{"b":[2]}`, "[ ]", "null"}},
		{"json_rows", `{"x":{"items":[0]},"order":{"n":"}","it\u0065ms" : [ {"p":1.5e3} ,2]},"order":{"items":[3]}}`, []any{"order.items"}, []string{`{"p":1.5e3}`, "2"}},
		{"json_rows", `{"order":{"items":3}}`, []any{"order.items"}, nil},
		{"json_rows", `{"order":[1]}`, []any{"order.items"}, nil},
		{"json_rows", `{"a":[1]}`, []any{"b"}, nil},
		{"json_rows", `{}`, []any{"b"}, nil},
		{"json_rows", `[]`, nil, nil},
		{"json_rows", `7`, nil, nil},
		{"json_rows", `[1, 2`, nil, nil},
		{"json_rows", ``, nil, nil},
		{"split_markdown", "before\n# A #\nx\n## B\n```\n# no\n```\n### C\n# D\n####### no\n    # no", nil, []string{
			"before\n", "A: # A #\nx\n", "A/B: ## B\n```\n# no\n```\n", "A/B/C: ### C\n", "D: # D\n####### no\n    # no",
		}},
	} {
		if got := pieces(t, c.name, c.text, c.args...); !cmp.Equal(got, c.want) {
			t.Errorf("%s%v of %q: got %q, want %q", c.name, c.args, c.text, got, c.want)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"split_text", nil, "lacks its argument size"},
		{"split_text", []any{int64(0)}, "size is 0"},
		{"split_text", []any{int64(-1)}, "size is -1"},
		{"split_text", []any{int64(1 << 40)}, "size is"},
		{"split_text", []any{int64(8), int64(8)}, "overlap is 8"},
		{"split_text", []any{int64(8), int64(-1)}, "overlap is -1"},
		{"split_text", []any{int64(maxSize), int64(maxSize - 1)}, "overlap is"},
		{"split_text", []any{int64(8), int64(0), "pages"}, "unit is"},
		{"split_text", []any{"8"}, "not a constant of type int64"},
		{"split_text", []any{int64(8), nil}, "not a constant"},
		{"split_lines", []any{int64(1)}, "at most 0"},
		{"json_rows", []any{"a..b"}, "empty name"},
		{"json_rows", []any{int64(1)}, "not a constant"},
	} {
		if _, err := Find(c.name).With(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s%v: got %v, want an error about %s", c.name, c.args, err, c.want)
		}
	}
	if Find("none") != nil {
		t.Error("there is a function none")
	}
}

// Pieces are the text at their offsets, in order, cut no cluster, and, if they do not overlap, concatenate
// to the text.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"", "One. Two!\n\n# A\r\n## B\n", "e\u0301👩‍👩‍👧🇩🇪🇫🇷 क्ष ไทย. \u0301x", "\xff\xfe.\xcc \xcc\x81", `[1,"a\"]",{"b":[]}]`, "``` \n# x\n~~~~\n# y", "a. \u0301B? \u200dC 。\u0301x"} {
		f.Add(seed, int64(3), int64(1), uint8(0))
		f.Add(seed, int64(1), int64(0), uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, size, overlap int64, unit uint8) {
		text = strings.ToValidUTF8(text, "?")
		boundaries := map[int]bool{len(text): true}
		for g := uniseg.NewGraphemes(text); g.Next(); {
			from, _ := g.Positions()
			boundaries[from] = true
		}
		characters := []rune(text)
		for _, fn := range Functions {
			var args []any
			if fn.Name == "split_text" {
				args = []any{size, overlap, []string{"characters", "words", "whitespace", "icu"}[unit%4]}
			}
			split, err := fn.With(args...)
			if err != nil {
				continue
			}
			joined, last, ordinal := "", int64(-1), int32(0)
			for c := range split(text) {
				if c.Start <= last || c.Ordinal != ordinal || c.End > int64(len(characters)) || string(characters[c.Start:c.End]) != c.Text {
					t.Fatalf("%s%v of %q: piece %+v", fn.Name, args, text, c)
				}
				from := len(string(characters[:c.Start]))
				if !boundaries[from] || !boundaries[from+len(c.Text)] {
					t.Fatalf("%s%v of %q cuts a cluster: %+v", fn.Name, args, text, c)
				}
				last, ordinal = c.Start, ordinal+1
				joined += c.Text
			}
			if fn == jsonRows {
				checkItems(t, text, joined)
				continue
			}
			if fn.Name == "split_lines" || fn.Name == "split_text" && overlap > 0 {
				continue
			}
			if joined != text {
				t.Fatalf("%s%v of %q: the pieces are %q", fn.Name, args, text, joined)
			}
		}
	})
}

// checkItems compares the items of a text that is an array with the items of package json.
func checkItems(t *testing.T, text, joined string) {
	var items []json.RawMessage
	if json.Unmarshal([]byte(text), &items) != nil {
		items = nil
	}
	want := ""
	for _, item := range items {
		want += string(item)
	}
	if joined != want {
		t.Fatalf("json_rows of %q: the pieces are %q, want %q", text, joined, want)
	}
}

// A consumer may stop after any piece.
func TestSplittersStop(t *testing.T) {
	for _, fn := range Functions {
		text, args := "# A\nOne. Two.\n# B\nThree. Four.", []any{int64(2)}[:min(len(fn.Params), 1)]
		if fn == jsonRows {
			text, args = "[1,2,3]", nil
		}
		for most := 1; most < 6; most++ {
			split, err := fn.With(args...)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for range split(text) {
				if n++; n == most {
					break
				}
			}
		}
	}
}

// Arrays of pieces have their values.
func TestArrays(t *testing.T) {
	split, _ := splitMarkdown.With()
	chunks := slices.Collect(split("x\n# Ä\n"))
	made := splitMarkdown.Array(chunks)
	want := `{"end":2,"ordinal":0,"path":[],"start":0,"text":"x\n"} {"end":6,"ordinal":1,"path":["Ä"],"start":2,"text":"# Ä\n"}`
	if got := fmt.Sprint(made.ValueStr(0), " ", made.ValueStr(1)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if utf8.RuneCountInString("x\n# Ä\n") != int(chunks[1].End) {
		t.Errorf("got %+v", chunks[1])
	}
}
