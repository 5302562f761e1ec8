//go:build !amd64

package inverted

func unpack(values []uint32, data []byte, bits, lanes int) { unpackPortable(values, data, bits, lanes) }
func addUp(values []uint32, first uint32)                  { addUpPortable(values, first) }
func ascend(documents, frequencies []uint32) bool          { return ascendPortable(documents, frequencies) }
