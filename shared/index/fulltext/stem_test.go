package fulltext

import (
	"encoding/json"
	"os"
	"testing"

	"tiltyard/shared/index/snowball"
)

// testdata/stems.json has the stems of native Lance for words of each language.
func TestStemsAreThoseOfNativeLance(t *testing.T) {
	data, err := os.ReadFile("testdata/stems.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]string
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) != len(snowball.Languages()) {
		t.Errorf("the golden file has %d languages, want %d", len(golden), len(snowball.Languages()))
	}
	for language, stems := range golden {
		differ := 0
		for word, want := range stems {
			if got := snowball.New(language).Stem(word); got != want {
				if differ++; differ <= 5 {
					t.Errorf("%s: stem of %s is %s, want %s", language, word, got, want)
				}
			}
		}
		if differ > 0 {
			t.Errorf("%s: %d of %d stems differ", language, differ, len(stems))
		}
	}
}
