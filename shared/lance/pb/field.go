package pb

// Field is one node of a schema. A message lists fields in pre-order, parents before
// their children; the tree is told by ParentID.
//
// Source: protos/file.proto of the format, message Field.
type Field struct {
	Type             int32             // 1: always 0 today
	Name             string            // 2
	ID               int32             // 3
	ParentID         int32             // 4: -1 at the top
	LogicalType      string            // 5
	Nullable         bool              // 6
	Encoding         int32             // 7: cosmetic
	ExtensionName    string            // 9: repeats the metadata's "ARROW:extension:name"
	Metadata         map[string]string // 10
	PrimaryKey       bool              // 12: unenforced
	PrimaryKeyPos    int32             // 13: 1-based; 0 is by field order
	ClusteringKey    bool              // 14: unenforced
	ClusteringKeyPos int32             // 15
	Unknown          []byte
}

// Unmarshal reads an encoded Field.
func (f *Field) Unmarshal(b []byte) error {
	*f = Field{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			f.Type = s.Int32()
		case 2:
			f.Name = s.String()
		case 3:
			f.ID = s.Int32()
		case 4:
			f.ParentID = s.Int32()
		case 5:
			f.LogicalType = s.String()
		case 6:
			f.Nullable = s.Bool()
		case 7:
			f.Encoding = s.Int32()
		case 9:
			f.ExtensionName = s.String()
		case 10:
			ScanMapEntry(s, &f.Metadata)
		case 12:
			f.PrimaryKey = s.Bool()
		case 13:
			f.PrimaryKeyPos = s.Int32()
		case 14:
			f.ClusteringKey = s.Bool()
		case 15:
			f.ClusteringKeyPos = s.Int32()
		default:
			f.Unknown = append(f.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Field.
func (f *Field) Marshal(e *Encoder) {
	e.Int32(1, f.Type)
	e.String(2, f.Name)
	e.Int32(3, f.ID)
	e.Int32(4, f.ParentID)
	e.String(5, f.LogicalType)
	e.Bool(6, f.Nullable)
	e.Int32(7, f.Encoding)
	e.String(9, f.ExtensionName)
	EncodeMap(e, 10, f.Metadata)
	e.Bool(12, f.PrimaryKey)
	e.Int32(13, f.PrimaryKeyPos)
	e.Bool(14, f.ClusteringKey)
	e.Int32(15, f.ClusteringKeyPos)
	e.Unknown(f.Unknown)
}
