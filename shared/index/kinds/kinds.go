// Package kinds lists the kinds of indices. A new kind has a package of its own with a value index.Kind, a row in package
// indexmeta, and a place in the list.
package kinds

import (
	"slices"

	"tiltyard/shared/index"
	"tiltyard/shared/index/bitmap"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/btree"
	"tiltyard/shared/index/fm"
	"tiltyard/shared/index/fts"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/labellist"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/index/zonemap"
	"tiltyard/shared/lance/indexmeta"
)

// All lists the kinds in the order of error messages.
var All = []*index.Kind{
	btree.Kind, bitmap.Kind, labellist.Kind, ngram.Kind, zonemap.Kind, bloomfilter.Kind, fts.Kind, fm.Kind, ivf.Kind,
}

// Of returns the kind with the given format entry; nil for a kind of native Lance that is unsupported here.
func Of(kind indexmeta.Kind) *index.Kind {
	if i := slices.IndexFunc(All, func(k *index.Kind) bool { return k.Kind == kind }); i >= 0 {
		return All[i]
	}
	return nil
}

// Types returns the names of all types that can be built.
func Types() []string {
	var names []string
	for _, k := range All {
		if k.Types != nil {
			names = append(names, k.Types...)
		} else {
			names = append(names, k.String())
		}
	}
	return names
}
