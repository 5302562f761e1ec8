package wasm_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"tiltyard/shared/engine/udf/wasm"
	"tiltyard/shared/protocol"
)

// Randomly mutated modules are refused, or work like other modules; their resources are always bounded.
func TestMutantsOfModules(t *testing.T) {
	count := 150
	if testing.Short() {
		count = 30
	}
	r := newRuntime(t, wasm.Limits{CallTime: 300 * time.Millisecond})
	original := module{code: map[string][]byte{"call": notEmpty(unreachable)}, data: map[uint32][]byte{dataAt: []byte(reason)}}.bytes()
	random := rand.New(rand.NewPCG(1, 2))
	opened := 0
	for i := range count {
		code := append([]byte{}, original...)
		for range 1 + random.IntN(3) {
			switch at := 8 + random.IntN(len(code)-8); random.IntN(4) {
			case 0:
				code[at] = byte(random.Uint32())
			case 1:
				code[at] ^= 1 << random.IntN(8)
			case 2:
				code = append(code[:at], append([]byte{byte(random.Uint32())}, code[at:]...)...)
			case 3:
				code = append(code[:at], code[at+1:]...)
			}
		}
		f, err := r.Open(t.Context(), spec(code, number, number))
		if err != nil {
			if named := (&protocol.Error{}); !errors.As(err, &named) {
				t.Errorf("mutant %d: %v has no name", i, err)
			}
			continue
		}
		opened++
		result, err := f.Call(t.Context(), numbers(1))
		if err == nil && result.Outputs.NumRows() != 1 {
			t.Errorf("mutant %d: %d rows for 1", i, result.Outputs.NumRows())
		}
		_ = f.Close()
	}
	t.Logf("%d of %d mutants were opened", opened, count)
}
