package write

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/pb"
)

// encodeBlobs makes blob pages (layout in package read, blob.go) of rows of position and size. The
// definition level of a null row is stored in its position.
func (p *pageRows) encodeBlobs(emit func(encoding.Page) error) error {
	for i, def := range p.def {
		if def != 0 {
			binary.LittleEndian.PutUint64(p.values.Fixed[16*i:], uint64(def)<<16)
		}
	}
	layers := p.layers
	p.def, p.layers = nil, []pb.RepDefLayer{pb.AllValidItem}
	return p.encodePacked(func(page encoding.Page) error {
		inner, err := pb.UnmarshalLayout(page.Encoding.Value)
		if err != nil {
			return fmt.Errorf("blob page: %w", err)
		}
		page.Encoding.Value = pb.MarshalLayout(&pb.BlobLayout{Inner: inner, Layers: layers})
		return emit(page)
	})
}
