package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestMethodsAreCurrent(t *testing.T) {
	want, err := methods(folder)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the table of operations gives now (%v); run: go generate ./shared/client", file, err)
	}
}
