package pb

// Field is one field of a schema. A message lists fields in pre-order, parents before their
// children; ParentID makes the tree.
//
// Source: protos/file.proto of the format, message Field.
//
//pb:message
type Field struct {
	Type             int32             `pb:"1"` // always 0 today
	Name             string            `pb:"2"`
	ID               int32             `pb:"3"`
	ParentID         int32             `pb:"4"` // -1 at the top
	LogicalType      string            `pb:"5"`
	Nullable         bool              `pb:"6"`
	Encoding         int32             `pb:"7"` // cosmetic
	ExtensionName    string            `pb:"9"` // repeats the metadata's "ARROW:extension:name"
	Metadata         map[string]string `pb:"10"`
	PrimaryKey       bool              `pb:"12"` // unenforced
	PrimaryKeyPos    int32             `pb:"13"` // 1-based; 0 is by field order
	ClusteringKey    bool              `pb:"14"` // unenforced
	ClusteringKeyPos int32             `pb:"15"`
	Unknown          []byte
}
