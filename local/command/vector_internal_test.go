package command

import "testing"

// A .npy file becomes finite or other numbers of its shape, or an error.
func FuzzNPY(f *testing.F) {
	f.Add([]byte(npyMagic + "\x01\x00\x24\x00{'descr': '<f4', 'shape': (1,), }   \n\x00\x00\x80\x3f"))
	f.Add([]byte(npyMagic + "\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		numbers, err := parseNPY(file)
		if err == nil && (len(numbers) == 0 || len(numbers)*4 > len(file)) {
			t.Errorf("%d numbers of %d bytes", len(numbers), len(file))
		}
	})
}
