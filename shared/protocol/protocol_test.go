package protocol_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/protocol"
)

func TestErrorNamesItsObjectAndItsCause(t *testing.T) {
	cause := errors.New("object does not exist")
	err := fmt.Errorf("describe: %w", &protocol.Error{Code: protocol.TableVersionNotFound, Object: "a$t", Message: "no version 7", Err: cause})
	if protocol.CodeOf(err) != protocol.TableVersionNotFound || !errors.Is(err, cause) {
		t.Errorf("%v has code %v, want TableVersionNotFound and the cause", err, protocol.CodeOf(err))
	}
	if got, want := err.Error(), "describe: a$t: no version 7: object does not exist"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := protocol.CodeOf(cause); got != protocol.Internal {
		t.Errorf("code of a foreign error is %v, want Internal", got)
	}
	if got, want := (&protocol.Error{Code: protocol.TableNotFound}).Text(), "TableNotFound"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wrapped := protocol.Errorf(protocol.InvalidInput, "columns: %w", cause)
	if wrapped.Text() != "columns: object does not exist" || !errors.Is(wrapped, cause) {
		t.Errorf("Errorf makes %q, want the text of the cause once", wrapped.Text())
	}
	if got := protocol.Code(24).String(); got != "Code(24)" {
		t.Errorf("unknown code is %q", got)
	}
}

func TestIDsAreSplitAtTheirDelimiter(t *testing.T) {
	cases := []struct {
		joined, delimiter string
		want              []string // nil: an error
	}{
		{"t", "$", []string{"t"}},
		{"a$b$t", "$", []string{"a", "b", "t"}},
		{"$", "$", []string{}},
		{"$$$", "$", []string{}},
		{"$$t$$", "$", []string{"t"}},
		{"a.b", "$", []string{"a.b"}},
		{".", ".", []string{}},
		{"a::b", "::", []string{"a", "b"}},
		{"a:b", "::", []string{"a:b"}},
		{"a/b c", "$", []string{"a/b c"}},
		{"", "$", nil},
		{"a", "", nil},
		{"a$b", ".", nil},
		{"a\x00b", "$", nil},
		{"a\xffb", "$", nil},
		{strings.Repeat("x", 257), "$", nil},
		{strings.Repeat("x$", 17), "$", nil},
	}
	for _, c := range cases {
		got, err := protocol.SplitID(c.joined, c.delimiter)
		if (err == nil) != (c.want != nil) {
			t.Errorf("SplitID(%.40q, %q): error %v", c.joined, c.delimiter, err)
			continue
		}
		if err == nil && !cmp.Equal(c.want, got) {
			t.Errorf("SplitID(%q, %q) = %q, want %q", c.joined, c.delimiter, got, c.want)
		}
		if err != nil && protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("SplitID(%.40q, %q): code %v, want InvalidInput", c.joined, c.delimiter, protocol.CodeOf(err))
		}
	}
}

func TestIDsSurviveJoiningAndSplitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delimiter := rapid.SampledFrom([]string{"$", ".", "::", "/"}).Draw(t, "delimiter")
		id := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9 é%+_-]{1,20}`), 0, protocol.MaxIDLevels).Draw(t, "id")
		got, err := protocol.SplitID(protocol.JoinID(id, delimiter), delimiter)
		if err != nil {
			t.Fatalf("split %q: %v", protocol.JoinID(id, delimiter), err)
		}
		if !slices.Equal(got, id) {
			t.Fatalf("%q becomes %q", id, got)
		}
	})
}

func TestPageBoundTakesANegativeLimitForNone(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		limit   *int64
		want    int64
		limited bool
	}{{nil, 0, false}, {n(-1), 0, false}, {n(0), 0, true}, {n(10), 10, true}} {
		if got, limited := (protocol.Page{Limit: c.limit}).Bound(); got != c.want || limited != c.limited {
			t.Errorf("bound of %v is %d, %v; want %d, %v", c.limit, got, limited, c.want, c.limited)
		}
	}
}

func TestCodeIsATargetOfErrorsIs(t *testing.T) {
	err := error(&protocol.Error{Code: protocol.TableNotFound, Err: &protocol.Error{Code: protocol.NamespaceNotFound}})
	if !errors.Is(err, protocol.TableNotFound) || !errors.Is(err, protocol.NamespaceNotFound) || errors.Is(err, protocol.InvalidInput) {
		t.Error("errors.Is does not find the codes of an error and of its cause, or finds another one")
	}
}
