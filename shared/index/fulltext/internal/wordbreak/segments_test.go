package wordbreak_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/index/fulltext/internal/wordbreak"
)

// testdata/words.json has the words that native Lance makes from texts: the segments with a letter or
// digit.
func TestWordsAreThoseOfNativeLance(t *testing.T) {
	data, err := os.ReadFile("testdata/words.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden [][2]any
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, c := range golden {
		text, words := c[0].(string), []any{}
		for segment := range wordbreak.Segments(text) {
			if strings.ContainsFunc(segment, wordlike) {
				words = append(words, segment)
			}
		}
		if diff := cmp.Diff(c[1], any(words)); diff != "" {
			t.Errorf("words of %+q: want -, got +:\n%s", text, diff)
		}
	}
}

func wordlike(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Other_Alphabetic, r)
}

func TestTextIsSegmentedAtWordBreaks(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"spaces stay together", "a  b", []string{"a", "  ", "b"}},
		{"line ends", "\r\n\n\r\u0301", []string{"\r\n", "\n", "\r", "\u0301"}},
		{"stops and colons", "3.14 a.b. a:b 1:2", []string{"3.14", " ", "a.b", ".", " ", "a", ":", "b", " ", "1", ":", "2"}},
		{"marks are passed over", "a\u0301.\u0308b\u00ad_", []string{"a\u0301.\u0308b\u00ad_"}},
		{"flags are pairs", "🇩🇪🇫\u200d🇷🇬", []string{"🇩🇪", "🇫\u200d🇷", "🇬"}},
		{"families", "👩\u200d👧👍🏽", []string{"👩\u200d👧", "👍🏽"}},
		{"Hebrew quotes", "א' א\"ב א\"x", []string{"א'", " ", "א\"ב", " ", "א", "\"", "x"}},
		{"Katakana", "カーa_カ", []string{"カー", "a_カ"}},
		{"a mark after a complex character", "ก\u0301", []string{"ก", "\u0301"}},
		{"a script without dictionary", "ᦀᦁไทย", []string{"ᦀᦁ", "ไทย"}},
		{"bytes that are no text", "a\xffb", []string{"a", "\xff", "b"}},
	} {
		if diff := cmp.Diff(c.want, slices.Collect(wordbreak.Segments(c.text))); diff != "" {
			t.Errorf("%s: segments of %+q: want -, got +:\n%s", c.name, c.text, diff)
		}
	}
}

func FuzzSegmentsAreTheText(f *testing.F) {
	f.Add("Can't 3.14 x\u200d👍🏽 🇩🇪🇫 \r\n \xff")
	f.Add("東京都に住んでภาษາລາວမြန်មែរᦀ\u0301")
	f.Fuzz(func(t *testing.T, text string) {
		joined := ""
		for segment := range wordbreak.Segments(text) {
			if segment == "" {
				t.Fatalf("an empty segment of %+q, after %+q", text, joined)
			}
			joined += segment
		}
		if joined != text {
			t.Errorf("segments of %+q are together %+q", text, joined)
		}
	})
}

func TestSegmentsMayBeLeftEarly(t *testing.T) {
	for segment := range wordbreak.Segments("one two") {
		if segment != "one" {
			t.Errorf("segment after the first that was wanted: %q", segment)
		}
		break
	}
}

func BenchmarkSegments(b *testing.B) {
	for name, text := range map[string]string{
		"English": "The quick brown fox jumps over the lazy dog, 3.14 don't. ",
		"Chinese": "天安门广场在北京市中心，我们去看了。",
		"Thai":    "ผู้ใช้สามารถติดตั้งโปรแกรมคอมพิวเตอร์ได้ด้วยตนเอง",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(text, 100)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for range wordbreak.Segments(text) { // they are only found
				}
			}
		})
	}
}
