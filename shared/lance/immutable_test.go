package lance_test

import (
	"testing"

	"tiltyard/shared/lance"
)

func TestImmutableFilesAreThoseWithUniqueNames(t *testing.T) {
	const stem = "010011010110010111000110" + "0123456789abcdef0123456789"
	const id = "0b5cf2a0-1c9f-4f5d-9d4a-6f3f3b1f2a3c"
	cases := []struct {
		key  string
		want bool
	}{
		{"ns/t.lance/data/" + stem + ".lance", true},
		{"data/" + stem + ".lance", true},
		{"t.lance/data/" + id + ".lance", true},
		{"t.lance/tree/branch/data/" + stem + ".lance", true},
		{"t.lance/data/" + stem + "/10000000000000000000000000000000.blob", true},
		{"t.lance/_indices/" + id + "/index.idx", true},
		{"t.lance/_indices/" + id + "/part_0_docs.lance", true},
		{"t.lance/_deletions/0-7-12345678901234567890.arrow", true},
		{"t.lance/_deletions/0-7-123.bin", true},

		{"t.lance/data/part0.lance", false},
		{"t.lance/mydata/" + stem + ".lance", false},
		{"t.lance/data/" + stem + ".lance/_versions/1.manifest", false},
		{"data/" + stem + ".lance/_refs/tags/v1.json", false},
		{"t.lance/data/" + stem + ".txt", false},
		{"t.lance/_indices/index.idx", false},
		{"t.lance/_indices/current/index.idx", false},
		{"t.lance/_indices/" + id + "/more/index.idx", false},
		{"t.lance/_deletions/latest.arrow", false},
		{"t.lance/_versions/18446744073709551612.manifest", false},
		{"t.lance/_latest.manifest", false},
		{"t.lance/_transactions/3-" + id + ".txn", false},
		{"t.lance/_uploads/" + id + "/1.txn", false},
		{"_catalog/" + id, false},
		{"t.lance/data/" + stem + ".lance\nx", false},
		{"", false},
	}
	for _, c := range cases {
		if got := lance.IsImmutable(c.key); got != c.want {
			t.Errorf("%q: got %t, want %t", c.key, got, c.want)
		}
	}
}
