package wordbreak

import (
	"bytes"
	"compress/flate"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The words are ab, abcd and c:
//
//	0 ─a─ 1 ─b─ 3• ─c─ 4 ─d─ 5•
//	  ─c─ 2•
func smallDictionary(t *testing.T) *dictionary {
	t.Helper()
	lead, characters := []byte{4, 2, 1, 3, 2, 1}, []byte("\x00acbcd")
	var file bytes.Buffer
	w, err := flate.NewWriter(&file, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	none := make([]byte, len(lead))
	for _, plane := range [][]byte{lead, none, characters, none, none} {
		if _, err := w.Write(plane); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return readDictionary(file.String())
}

func TestEndsInARun(t *testing.T) {
	d := smallDictionary(t)
	for _, c := range []struct {
		run  string
		want []int
	}{
		{"ab", []int{2}},
		{"cab", []int{1, 3}},
		{"abcdc", []int{4, 5}},
		{"abd", []int{2, 3}},  // no word begins with d
		{"aab", []int{2, 3}},  // one begins with a, but none with aa
		{"cabc", []int{1, 3}}, // abc may become abcd, so the rest is left to another run
		{"ca", []int{1, 2}},   // but not when no word was found
		{"a", []int{1}},
	} {
		var got []int
		for _, end := range d.ends(nil, properties(), c.run, 10) {
			got = append(got, end-10)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("ends in %q: want -, got +:\n%s", c.run, diff)
		}
	}
}

func TestDictionariesAreInOrder(t *testing.T) {
	for script, words := range dictionaries {
		if words == nil {
			continue
		}
		d := words()
		if len(d.nodes) < 70_000 {
			t.Errorf("the dictionary of script %d has %d nodes, want more", script, len(d.nodes))
		}
		if last := d.nodes[len(d.nodes)-1].firstChild; int(last) != len(d.nodes)-1 {
			t.Errorf("the dictionary of script %d has children up to node %d, want %d", script, last, len(d.nodes)-1)
		}
		for number := range d.nodes[:len(d.nodes)-1] {
			from, to := d.children(number)
			for i := from + 1; i < to; i++ {
				if d.nodes[i-1].character >= d.nodes[i].character {
					t.Fatalf("the children of node %d of script %d are not in order", number, script)
				}
			}
		}
	}
}

func TestMarksStayWithTheirLetters(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"bases", "日本", []int{3, 6}},
		{"extended", "กั่ก", []int{9, 12}},
		{"spacing mark", "กำก", []int{6, 9}},
		{"linked consonants", "ក្កក", []int{9, 12}},
		{"linker with something between", "ក្ាក", []int{9, 12}},
		{"linker without a consonant before", "្ក", []int{3, 6}},
		{"extension and linker", "ကိ္က", []int{12}},
		{"begins with a mark", "ัก", []int{3, 6}},
	} {
		clusters, got := clusters{table: properties(), text: c.text}, []int(nil)
		for end := 0; end < len(c.text); got = append(got, end) {
			end = clusters.next()
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: clusters of %+q: want -, got +:\n%s", c.name, c.text, diff)
		}
	}
}
