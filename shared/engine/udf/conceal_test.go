package udf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestValuesAreReplaced(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIEvQIBADAN\nshort\nBgkqhkiG9w0B\"\\<>\n-----END KEY-----\n"
	inJSON, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	c := NewConcealer("secret", "secret-and-more", "", " padded-value\n", key)
	for text, want := range map[string]string{
		"the secret-and-more and secret":             "the *** and ***",
		"no value":                                   "no value",
		"it is padded-value.":                        "it is***.",
		"it is  padded-value\n.":                     "it is ***.",
		"whole: " + key + ".":                        "whole: ***.",
		"in JSON: " + string(inJSON):                 `in JSON: "***"`,
		fmt.Sprintf("quoted: %q", key):               `quoted: "***"`,
		"a line: MIIEvQIBADAN":                       "a line: ***",
		`its last: BgkqhkiG9w0B"\<>`:                 "its last: ***",
		`that in JSON: BgkqhkiG9w0B\"\\<>`:           "that in JSON: ***",
		`escaped: BgkqhkiG9w0B\"\\\u003c` + `\u003e`: "escaped: ***",
		"a short line: short":                        "a short line: short",
	} {
		if got := c.Hide(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := NewConcealer().HideEnd("all of it", true); got != "all of it" {
		t.Errorf("without values: got %q", got)
	}
}

// Wherever a text was cut, no part of a value is left.
func TestEndsHoldNoPartOfAValue(t *testing.T) {
	const value = "canary-canary"
	c := NewConcealer(value, "canary")
	for at := range len(value) {
		for name, text := range map[string]string{
			"killed": c.HideEnd("it is "+value[:at], false),
			"cut":    c.HideEnd(value[at:]+" "+strings.Repeat(".", len(value)), true),
		} {
			if strings.Contains(text, "cana") || strings.Contains(text, "nary") || text == "" {
				t.Errorf("%s at %d: %q", name, at, text)
			}
		}
	}
}
