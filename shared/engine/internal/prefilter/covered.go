package prefilter

import (
	"slices"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/pruning"
)

// Covered returns the fragments of a fast search, and the names of the indices that determine them:
// the fragments that are covered by all indices with which native Lance would test a part of the
// filter. If native Lance would use no index, it searches all fragments, and covers is nil.
func Covered(d *dataset.Dataset, filter *plan.Bound) (covers func(fragment uint64) bool, names []string, err error) {
	byColumn, err := scalarIndices(d)
	if err != nil {
		return nil, nil, err
	}
	indexOf := func(p pruning.Probe) *snapshot.Index { return byColumn[schema.FormatPath(p.Column...)] }
	var used []*snapshot.Index
	tree, _ := filter.Narrow(func(p pruning.Probe) pruning.Answer { return answerOf(indexOf(p), p) })
	for _, probe := range tree.Probes() {
		if x := indexOf(probe); !slices.Contains(used, x) {
			used, names = append(used, x), append(names, x.Name)
		}
	}
	if used == nil {
		return nil, nil, nil
	}
	return func(fragment uint64) bool {
		return !slices.ContainsFunc(used, func(x *snapshot.Index) bool { return !x.Covers(fragment) })
	}, names, nil
}
