package boot

import (
	"io"
	"strings"
	"testing"
)

func TestModulesAreRunUnlessTheyAreSwitchedOff(t *testing.T) {
	for text, want := range map[string]bool{"": true, "on": true, "off": false} {
		given := map[string]string{"root": t.TempDir()}
		if text != "" {
			given["wasm"] = text
		}
		config, err := Read(texts(given), LocalDefaults)
		if err != nil {
			t.Fatal(err)
		}
		env, err := Open(config, inEnv, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := env.Runtimes["wasm"] != nil; got != want {
			t.Errorf("wasm %q: there is a runtime: %v, want %v", text, got, want)
		}
	}
}

func TestLimitsOfModulesHaveBounds(t *testing.T) {
	for setting, text := range map[string]string{"wasm-memory-bytes": "5GiB", "wasm-output-bytes": "2GiB", "wasm-call-timeout": "0s"} {
		if _, err := Read(texts(map[string]string{setting: text}), LocalDefaults); err == nil || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s %s: got %v, want an error", setting, text, err)
		}
	}
}
