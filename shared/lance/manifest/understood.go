package manifest

import (
	"fmt"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
)

// fileFormat is the name of the format of data files.
const fileFormat = "lance"

// legacyFormat is the version that manifests record for data files before 2.0.
const legacyFormat = "0.1"

// FileVersion returns the version of new data files. Manifests of the format's first generation do
// not record it; it is then the version of the first data file, or follows from a flag.
//
// Source: crate lance-table, src/format/manifest.rs.
func (m *Manifest) FileVersion() (lance.Version, error) {
	switch {
	case m.DataFormat != nil:
		return formatVersion(m.DataFormat)
	case len(m.Fragments) > 0 && len(m.Fragments[0].Files) > 0:
		return fileVersion(&m.Fragments[0].Files[0])
	case m.WriterFlags&FlagV2Format != 0:
		return lance.V2_0, nil
	}
	return lance.Legacy, nil
}

// SetFileVersion sets the version of new data files.
func (m *Manifest) SetFileVersion(v lance.Version) {
	name := v.String()
	if v == lance.Legacy {
		name = legacyFormat
	}
	m.DataFormat = &pb.DataFormat{FileFormat: fileFormat, Version: name}
}

// formatVersion parses the data format of a manifest: "lance" and a version.
func formatVersion(f *pb.DataFormat) (lance.Version, error) {
	if f.FileFormat != fileFormat {
		return lance.Version{}, fmt.Errorf("%w: data files of the format %q", lance.ErrUnsupported, f.FileFormat)
	}
	if f.Version == legacyFormat {
		return lance.Legacy, nil
	}
	for _, v := range []lance.Version{lance.V2_0, lance.V2_1, lance.V2_2} {
		if f.Version == v.String() {
			return v, nil
		}
	}
	return lance.Version{}, fmt.Errorf("%w: data files of version %q", lance.ErrUnsupported, f.Version)
}

// fileVersion returns the version of a data file from its entry in a manifest.
func fileVersion(f *pb.DataFile) (lance.Version, error) {
	return lance.VersionOf(f.MajorVersion, f.MinorVersion)
}

// checkUnderstood rejects a version with parts that this package would misread or ignore. For
// example, a column in a file of an unsupported version would read as null. The error is
// [lance.ErrUnsupported], or [lance.ErrCorrupt] if no version of the format allows the part.
func (m *Manifest) checkUnderstood() error {
	if _, err := m.FileVersion(); err != nil {
		return fmt.Errorf("version %d: %w", m.Version, err)
	}
	for _, f := range m.Fragments {
		if err := m.checkUnderstoodFragment(f); err != nil {
			return err
		}
	}
	return nil
}

// checkLegacy prevents writes to a table that mixes legacy data files with others, and to a legacy
// table whose manifest lacks dictionary values.
func (m *Manifest) checkLegacy() error {
	version, err := m.FileVersion()
	if err != nil {
		return err
	}
	legacy := version == lance.Legacy
	for _, f := range m.Fragments {
		for i := range f.Files {
			version, err := fileVersion(&f.Files[i])
			if err == nil && (version == lance.Legacy) != legacy {
				err = fmt.Errorf("%w: to write the table needs legacy data files beside others", lance.ErrUnsupported)
			}
			if err != nil {
				return err
			}
		}
	}
	if !legacy {
		return nil
	}
	for _, field := range dictionary.Fields(m.Schema) {
		if m.Dictionaries[field.ID] == nil {
			return fmt.Errorf("%w: to write the table needs a dictionary for column %s, of integers, texts or bytes", lance.ErrUnsupported, m.Schema.Path(field.ID))
		}
	}
	return nil
}

// Numbers of fields of the message DataFragment that package pb does not parse.
const (
	fragmentOverlays      = 11
	fragmentColumnRowIDs  = 12
	fragmentColumnUpdated = 13
	fragmentColumnCreated = 14
)

// Ids of hidden columns in data files; package dataset documents them.
const (
	rowIDField     int32 = -3
	createdAtField int32 = -4
	updatedAtField int32 = -5
)

// checkUnderstoodFragment rejects unknown kinds of files, missing row ids and unknown fields.
func (m *Manifest) checkUnderstoodFragment(f *pb.Fragment) error {
	for i := range f.Files {
		if err := checkUnderstoodFile(f, &f.Files[i]); err != nil {
			return err
		}
	}
	if d := f.DeletionFile; d != nil && d.FileType != pb.DeletionArrow && d.FileType != pb.DeletionBitmap {
		return fmt.Errorf("%w: fragment %d has a deletion file of type %d", lance.ErrUnsupported, f.ID, d.FileType)
	}
	if m.StableRowIDs() && f.RowIDs == nil && !holdsField(f, rowIDField) {
		return m.corrupt("no data file holds the row ids of fragment %d", f.ID)
	}
	if len(f.Unknown) == 0 {
		return nil
	}
	s := pb.NewScanner(f.Unknown)
	for s.Next() {
		switch {
		case s.Num == fragmentOverlays:
			return refuseFlags("read", FlagDataOverlays)
		case s.Num == fragmentColumnRowIDs && !holdsField(f, rowIDField):
			return m.corrupt("no data file holds the row ids of fragment %d", f.ID)
		case s.Num == fragmentColumnUpdated && !holdsField(f, updatedAtField),
			s.Num == fragmentColumnCreated && !holdsField(f, createdAtField):
			return m.corrupt("no data file holds the row versions of fragment %d", f.ID)
		}
	}
	return nil
}

func holdsField(f *pb.Fragment, id int32) bool {
	for i := range f.Files {
		for _, field := range f.Files[i].Fields {
			if field == id {
				return true
			}
		}
	}
	return false
}

// checkUnderstoodFile checks the version of a data file entry.
func checkUnderstoodFile(f *pb.Fragment, file *pb.DataFile) error {
	if _, err := fileVersion(file); err != nil {
		return fmt.Errorf("file %s of fragment %d: %w", file.Path, f.ID, err)
	}
	return nil
}
