package encoding

import (
	"encoding/binary"
	"errors"
	"testing"

	"tiltyard/shared/lance"
)

// newSymbolTable returns the bytes of a symbol table.
func newSymbolTable(symbols ...string) []byte {
	b := make([]byte, fsstTableBytes)
	binary.LittleEndian.PutUint64(b, fsstMagic<<32|1<<24|uint64(len(symbols)))
	for i, s := range symbols {
		copy(b[8+8*i:], s)
		b[8+8*len(symbols)+i] = byte(len(s))
	}
	return b
}

func TestSymbolTableDecodes(t *testing.T) {
	table, err := parseSymbolTable(newSymbolTable("the ", "q", "ick wall"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := table.decode([]byte("> "), []byte{0, 1, fsstEscape, 'u', 2, fsstEscape, 255})
	if want := "> the quick wall\xff"; err != nil || string(got) != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
}

func TestSymbolTableOfPlainTextChangesNothing(t *testing.T) {
	b := newSymbolTable()
	binary.LittleEndian.PutUint64(b, fsstMagic<<32)
	table, err := parseSymbolTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.decode(nil, []byte("\x00\xff")); err != nil || string(got) != "\x00\xff" {
		t.Errorf("got %q and error %v", got, err)
	}
}

func TestSymbolTableRefusesDamage(t *testing.T) {
	good := newSymbolTable("ab")
	noMagic := newSymbolTable("ab")
	noMagic[7] = 0
	longSymbol := newSymbolTable("ab")
	longSymbol[16] = 9
	for name, b := range map[string][]byte{"short": good[:100], "no magic": noMagic, "long symbol": longSymbol} {
		if _, err := parseSymbolTable(b); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
	table, err := parseSymbolTable(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, codes := range map[string][]byte{"escape at the end": {0, fsstEscape}, "no such symbol": {1}} {
		if _, err := table.decode(nil, codes); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
}
