package index

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/protocol/indexapi"
)

func TestTextParametersHaveTheDefaultsOfTheirTokenizer(t *testing.T) {
	for text, change := range map[string]func(*fulltext.Params){
		`{}`:                         func(*fulltext.Params) {},
		`{"base_tokenizer":"ngram"}`: func(p *fulltext.Params) { *p = fulltext.DefaultsOf("ngram") },
		`{"language":"German"}`:      func(p *fulltext.Params) { p.Language = "German" },
		`{"stem":false}`:             func(p *fulltext.Params) { p.Stem = false },
		`{"max_token_length":null}`:  func(p *fulltext.Params) { p.MaxTokenLength = nil },
		`{"block_size":256}`:         func(p *fulltext.Params) { p.BlockSize = 256 },
	} {
		var asked indexapi.TextParameters
		if err := json.Unmarshal([]byte(text), &asked); err != nil {
			t.Fatal(err)
		}
		want := fulltext.DefaultsOf("")
		change(&want)
		if diff := cmp.Diff(want, textParams(&asked)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
