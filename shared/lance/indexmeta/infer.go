package indexmeta

import "tiltyard/shared/lance/pb"

// Infer adds the details that an entry lacks if the files of the index show its kind. Programs that
// commit the entries of their indices themselves, such as Spark with lance-spark, leave them out.
// The parameters of the index are in its files.
//
// Source: infer_scalar_index_details of crate lance.
func Infer(x *pb.IndexMetadata) {
	if x.Details != nil {
		return
	}
	for _, file := range x.Files {
		for k, row := range kinds {
			if row.file != "" && row.file == file.Path {
				x.Details = &pb.Any{TypeURL: Kind(k).TypeURL()}
			}
		}
	}
}
