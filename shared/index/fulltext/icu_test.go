package fulltext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWordsAreThoseThatICUFinds(t *testing.T) {
	const whole, split = `{"base_tokenizer":"icu"}`, `{"base_tokenizer":"icu/split"}`
	for _, c := range []struct {
		params, text string
		want         []Term
	}{
		{whole, "foo_bar can't: 3.14!", []Term{{"foo_bar", 0}, {"can't", 1}, {"3.14", 2}}},
		{split, "foo_bar can't: 3.14!", []Term{{"foo", 0}, {"bar", 1}, {"t", 3}, {"3", 4}, {"14", 5}}}, // can is a stop word
		{whole, "東京都に住んで, running", []Term{{"東京", 0}, {"都", 1}, {"住", 3}, {"んで", 4}, {"run", 5}}},
		{split, "ภาษาไทย_日本", []Term{{"ภาษา", 0}, {"ไทย", 1}, {"日本", 2}}},
		{whole, " \n👍🏽 ... _", nil},
		{split, " \n👍🏽 ... _", nil},
		{split, "_x_\u0301", []Term{{"x", 0}}},
		{whole, "\U000323b0 \U0001e5d0\u0301", []Term{{"\U000323b0", 0}, {"\U0001e5d0\u0301", 1}}}, // new in Unicode 16 and 17
	} {
		terms, err := analyzer(t, c.params).Query(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, terms); diff != "" {
			t.Errorf("%s: terms of %q: want -, got +:\n%s", c.params, c.text, diff)
		}
	}
}

func TestICUDropsStopWordsOfAllLanguages(t *testing.T) {
	for _, c := range []struct {
		params, text string
		dropped      bool
	}{
		{`{"base_tokenizer":"icu"}`, "the", true},
		{`{"base_tokenizer":"icu","language":"German"}`, "the", true},
		{`{"base_tokenizer":"icu"}`, "的", true},
		{`{"base_tokenizer":"icu"}`, "ある", true},
		{`{"base_tokenizer":"icu/split"}`, "그리고", true},
		{`{"base_tokenizer":"icu"}`, "και", true},
		{`{"base_tokenizer":"icu"}`, "cat", false}, // Romanian, too
		{`{"base_tokenizer":"icu"}`, "和", false},
		{`{"base_tokenizer":"icu","custom_stop_words":["cat"]}`, "the", false},
		{`{"base_tokenizer":"icu","remove_stop_words":false}`, "the", false},
		{`{"base_tokenizer":"simple"}`, "的", false},
	} {
		terms, err := analyzer(t, c.params).Query(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if dropped := len(terms) == 0; dropped != c.dropped {
			t.Errorf("%s: %q is dropped: %t, want %t", c.params, c.text, dropped, c.dropped)
		}
	}
}
