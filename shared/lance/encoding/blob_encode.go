package encoding

import (
	"encoding/binary"
	"fmt"

	"tiltyard/shared/lance/pb"
)

// encodeBlobs makes blob pages (see blobPage): of descriptions of blobs, rows of position
// and size. Their definition levels go into the positions of the rows that are null.
func (p *pageRows) encodeBlobs(emit func(Page) error) error {
	for i, def := range p.def {
		if def != 0 {
			binary.LittleEndian.PutUint64(p.values.fixed[16*i:], uint64(def)<<16)
		}
	}
	layers := p.layers
	p.def, p.layers = nil, []pb.RepDefLayer{pb.AllValidItem}
	return p.encodePacked(func(page Page) error {
		inner, err := pb.UnmarshalLayout(page.Encoding.Value)
		if err != nil {
			return fmt.Errorf("blob page: %w", err)
		}
		page.Encoding.Value = pb.MarshalLayout(&pb.BlobLayout{Inner: inner, Layers: layers})
		return emit(page)
	})
}
