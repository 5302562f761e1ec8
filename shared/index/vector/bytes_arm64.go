package vector

const stepBytes = 16 // per step of the kernel

func bytesL2(query []byte, rows []*byte, out []uint32) {
	bytesL2NEON(query, rows, out)
	if whole := len(query) &^ (stepBytes - 1); whole < len(query) {
		addBytesL2(query, rows, whole, out)
	}
}

// bytesL2NEON leaves out the last len(query) % stepBytes bytes of each row.
//
//go:noescape
func bytesL2NEON(query []byte, rows []*byte, out []uint32)
