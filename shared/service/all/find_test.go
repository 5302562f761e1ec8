package all_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// found returns the ids that a search finds and the tokens of its pages.
func (s *limited) found(group, conditions string) (ids, tokens []string) {
	s.t.Helper()
	token := ""
	for {
		var page struct {
			Tables []struct{ ID []string }
			Token  string `json:"page_token"`
		}
		answer := s.must(group, "/v1/table/find", fmt.Sprintf(`{"page_token":%q,%s}`, token, conditions))
		if err := json.Unmarshal([]byte(answer), &page); err != nil {
			s.t.Fatal(err)
		}
		for _, one := range page.Tables {
			ids = append(ids, strings.Join(one.ID, "$"))
		}
		if token = page.Token; token == "" {
			slices.Sort(ids)
			return ids, tokens
		}
		tokens = append(tokens, token)
	}
}

// A search finds what the caller may describe, in every way of searching. What is hidden has no effect on the
// answer.
func TestSearchFindsTablesThatTheCallerSees(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	for _, conditions := range []string{
		`"limit":100`, `"limit":1`, `"name":"*"`, `"namespace_id":[]`, `"text":"e","in":["name","property","column","comment"]`,
	} {
		for group, want := range map[string][]string{
			"admins": {"elm$x", "oak$in$deep", "oak$secret", "oak$t"}, "readers": {"oak$in$deep", "oak$t"},
			"viewers": {"oak$in$deep", "oak$t"}, "askers": nil, "nobody": nil,
		} {
			if strings.Contains(conditions, `"e"`) {
				want = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return !strings.Contains(id, "e") })
			}
			if got, _ := s.found(group, conditions); !slices.Equal(got, want) {
				t.Errorf("%s find %v by %s, want %v", group, got, conditions, want)
			}
		}
	}
	for _, group := range []string{"readers", "nobody"} {
		_, hidden := s.as(group, http.MethodPost, "/v1/table/find", `{"namespace_id":["elm"]}`)
		status, missing := s.as(group, http.MethodPost, "/v1/table/find", `{"namespace_id":["yew"]}`)
		if strings.ReplaceAll(hidden, "elm", "yew") != missing || status != http.StatusNotFound {
			t.Errorf("%s see a difference:\n%s\n%s", group, hidden, missing)
		}
	}
}

// Who may describe a table and not list its tags finds it, but not by them.
func TestSearchForTagsNeedsTheRightToListThem(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	if status, answer := s.as("admins", http.MethodPost, "/v1/table/oak$tagged/create", string(stream(t, 0, 1))); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	s.must("admins", "/v1/table/oak$tagged/tags/create", `{"tag":"spring","version":1}`)
	for group, want := range map[string]int{"readers": 1, "viewers": 0, "nobody": 0} {
		for _, conditions := range []string{`"tag":"spring"`, `"text":"spring","in":["tag"]`} {
			if got, _ := s.found(group, conditions); len(got) != want {
				t.Errorf("%s find %v by %s, want %d tables", group, got, conditions, want)
			}
		}
		if got, _ := s.found(group, `"columns":[{"name":"vector"}]`); group != "nobody" && len(got) != 1 {
			t.Errorf("%s find %v by a column", group, got)
		}
	}
}

// A token of a page that ends early is behind records that the caller may not see. It shows none of their
// names, of whatever length, and is of no use to others than those whom policies limit.
func TestTokensOfSearchesHideNames(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	for i := range 20_100 {
		name := fmt.Sprintf("hidden%05d", i)
		record := fmt.Sprintf(`{"id":["elm",%q],"uid":%q,"location":%q}`, name, name, name+".lance")
		if _, err := s.store.Put(t.Context(), "_catalog/$elm/t/"+name, []byte(record), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	got, tokens := s.found("readers", `"limit":100`)
	if !slices.Equal(got, []string{"oak$in$deep", "oak$t"}) || len(tokens) != 1 {
		t.Fatalf("got %v after %d tokens, want two tables on the second page", got, len(tokens))
	}
	token := tokens[0]
	text, err := base64.RawURLEncoding.DecodeString(token[1:])
	if err != nil || strings.Contains(string(text), "hidden") || strings.Contains(string(text), "elm") || len(text) != 256+12+16 {
		t.Errorf("the token holds %d bytes: %q, %v", len(text), text, err)
	}
	_, again := s.found("readers", `"limit":100`)
	if slices.Equal(again, tokens) {
		t.Error("two tokens of one position are equal")
	}
	text[20] ^= 1
	for group, bad := range map[string]string{
		"readers": "s" + base64.RawURLEncoding.EncodeToString(text), "writers": "p" + base64.RawURLEncoding.EncodeToString([]byte("_catalog/$elm/t/hidden10000")),
	} {
		if status, answer := s.as(group, http.MethodPost, "/v1/table/find", fmt.Sprintf(`{"page_token":%q}`, bad)); status != http.StatusBadRequest {
			t.Errorf("another token of %s: %d %s, want 400", group, status, answer)
		}
	}
}
