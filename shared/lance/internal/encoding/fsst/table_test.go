package fsst

import (
	"encoding/binary"
	"errors"
	"testing"

	"tiltyard/shared/lance"
)

// storedTable returns the bytes of a symbol table.
func storedTable(symbols ...string) []byte {
	b := make([]byte, TableBytes)
	binary.LittleEndian.PutUint64(b, magic<<32|1<<24|uint64(len(symbols)))
	for i, s := range symbols {
		copy(b[8+8*i:], s)
		b[8+8*len(symbols)+i] = byte(len(s))
	}
	return b
}

func decode(table *Table, codes []byte) ([]byte, error) {
	out := make([]byte, MaxSymbol*(len(codes)+1))
	n, err := table.Decode(out, 0, codes)
	return out[:n], err
}

func TestSymbolTableDecodes(t *testing.T) {
	table, err := ParseTable(storedTable("the ", "q", "ick wall"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(table, []byte{0, 1, escape, 'u', 2, escape, 255})
	if want := "the quick wall\xff"; err != nil || string(got) != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
}

func TestTableOfPlainText(t *testing.T) {
	b := storedTable()
	binary.LittleEndian.PutUint64(b, magic<<32)
	table, err := ParseTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if !table.Plain {
		t.Error("a table without symbols, of text that is not compressed, is not plain")
	}
}

func TestSymbolTableRefusesDamage(t *testing.T) {
	good := storedTable("ab")
	noMagic := storedTable("ab")
	noMagic[7] = 0
	longSymbol := storedTable("ab")
	longSymbol[16] = 9
	for name, b := range map[string][]byte{"short": good[:100], "no magic": noMagic, "long symbol": longSymbol} {
		if _, err := ParseTable(b); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
	table, err := ParseTable(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, codes := range map[string][]byte{"escape at the end": {0, escape}, "no such symbol": {1}} {
		if _, err := decode(table, codes); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
}
