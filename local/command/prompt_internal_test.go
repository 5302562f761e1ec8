package command

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// typed returns a prompt at which somebody has typed keys.
func typed(keys string, names ...string) (p *prompt, raw *int) {
	raw = new(int)
	terminal := struct {
		io.Reader
		io.Writer
	}{strings.NewReader(keys), new(bytes.Buffer)}
	return newPrompt(terminal, func() (func(), error) { *raw++; return func() { *raw-- }, nil }, func() []string { return names }), raw
}

func TestPromptReadsStatements(t *testing.T) {
	p, raw := typed("SELECT id\r  FROM t;\r\rSELECT 1 FROM t ;\r\x1b[A\rquit\rSELECT 2;\r")
	for _, want := range []string{"SELECT id\n  FROM t;", "", "SELECT 1 FROM t ;", "SELECT 1 FROM t ;"} {
		if got, err := p.read(); err != nil || got != want || *raw != 0 {
			t.Errorf("got %q, %v, %d terminals in raw mode, want %q", got, err, *raw, want)
		}
	}
	if got, err := p.read(); !errors.Is(err, io.EOF) {
		t.Errorf("after quit: got %q, %v", got, err)
	}
	for _, keys := range []string{"", "\x03", "\x04", "exit\r"} {
		p, _ := typed(keys)
		if got, err := p.read(); !errors.Is(err, io.EOF) {
			t.Errorf("after %q: got %q, %v", keys, got, err)
		}
	}
}

func TestPromptCompletes(t *testing.T) {
	for keys, want := range map[string]string{
		"sel\t id fr\t shop.o\t;\r":   "SELECT id FROM shop.orders;",
		"SELECT id FROM shop.\t;\r":   "SELECT id FROM shop.;",
		"SELECT id FROM shop.p\tx;\r": "SELECT id FROM shop.points_202x;",
		"SELECT nope\t FROM `\t;\r":   "SELECT nope FROM `My Docs`;",
		"SELECT \t1;\r":               "SELECT 1;",
		"SELECT id FROM Shop.O LIMIT 1;\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\t\r": "SELECT id FROM shop.orders LIMIT 1;",
	} {
		p, _ := typed(keys, "`My Docs`", "shop.orders", "shop.points_2023", "shop.points_2024")
		if got, err := p.read(); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", keys, got, err, want)
		}
	}
}
