//go:build !amd64 && !arm64

package vector

func bytesL2(query []byte, rows []*byte, out []uint32) { bytesL2Portable(query, rows, out) }
