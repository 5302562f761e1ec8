// Package wal reads the table metadata of a write-ahead log of native writers. This service neither reads nor writes the
// rows in a log.
package wal

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
)

// Spec returns the configuration of a version's write-ahead log, nil if it has none. The error is
// Unsupported for a configuration that the protocol cannot express.
func Spec(d *dataset.Dataset) (*dataapi.LSMWriteSpec, error) {
	entry, err := logOf(d)
	if err != nil || entry == nil {
		return nil, err
	}
	return specOf(d, entry)
}

// logOf returns the manifest's entry of the log, nil if there is none.
func logOf(d *dataset.Dataset) (*pb.IndexMetadata, error) {
	// This avoids decoding the section for nearly all reads.
	if !bytes.Contains(d.Manifest().IndexSection, []byte(indexmeta.MemWAL)) {
		return nil, nil //nolint:nilnil // there is none
	}
	entries, err := d.Manifest().Indices()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(entries, func(x *pb.IndexMetadata) bool { return x.Name == indexmeta.MemWAL }); i >= 0 {
		return entries[i], nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// specOf decodes the entry of a log.
//
// Source: table/merge/lsm.rs of crate lancedb, rte_spec_from_details.
func specOf(d *dataset.Dataset, entry *pb.IndexMetadata) (*dataapi.LSMWriteSpec, error) {
	var details pb.MemWALDetails
	if entry.Details != nil {
		if err := details.Unmarshal(entry.Details.Value); err != nil {
			return nil, fmt.Errorf("%w: details of %s: %w", lance.ErrCorrupt, indexmeta.MemWAL, err)
		}
	}
	made := &dataapi.LSMWriteSpec{WriterConfigDefaults: details.WriterDefaults}
	if made.WriterConfigDefaults == nil {
		made.WriterConfigDefaults = map[string]string{}
	}
	if !details.MaintainAll {
		made.MaintainedIndexes = (*protocol.List[string])(&details.Maintained)
	}
	unknown := fmt.Errorf("%w: the shards of %s", lance.ErrUnsupported, indexmeta.MemWAL)
	if len(details.Sharding) == 0 || len(details.Sharding[0].Fields) == 0 {
		return nil, unknown
	}
	field := details.Sharding[0].Fields[0]
	made.Sharding.Mode = field.Transform
	switch made.Sharding.Mode {
	case "unsharded":
		return made, nil
	case "bucket":
		n, err := strconv.ParseUint(field.Parameters["num_buckets"], 10, 32)
		if err != nil || n == 0 {
			return nil, unknown
		}
		made.Sharding.NumBuckets = int64(n)
	case "identity":
	default:
		return nil, unknown
	}
	if len(field.Sources) != 1 || d.Schema().ByID(field.Sources[0]) == nil {
		return nil, unknown
	}
	made.Sharding.Column = d.Schema().ByID(field.Sources[0]).Name
	return made, nil
}

// CheckWhole returns Unsupported for a version with a log, because the files of the table lack its
// rows.
func CheckWhole(d *dataset.Dataset) error { return Check(d, nil) }

// Check returns an error if a request cannot be answered because of a log. If wanted is nil, a version with a log is
// Unsupported. If it is false, the request ignores the log. If it is true, a version without a log is InvalidInput.
func Check(d *dataset.Dataset, wanted *bool) error {
	if wanted != nil && !*wanted {
		return nil
	}
	entry, err := logOf(d)
	switch {
	case err != nil:
		return err
	case entry != nil:
		return &protocol.Error{
			Code:    protocol.Unsupported,
			Message: fmt.Sprintf("the table has a write-ahead log (%s), and its rows are not read here", indexmeta.MemWAL),
			Detail:  "use_lsm false, or use_rte false in newer clients, reads the table without them",
		}
	case wanted != nil:
		return protocol.Errorf(protocol.InvalidInput, "use_lsm or use_rte is true, but the table has no write-ahead log; leave it out")
	}
	return nil
}
