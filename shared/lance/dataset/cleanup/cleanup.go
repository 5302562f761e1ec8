// Package cleanup deletes old versions of a table and files that no version refers to. It works in
// two steps with time between them: [Expire] deletes the manifests of old versions, and
// [DeleteOrphans] deletes files without a reference in any manifest. The time between must exceed
// any request that may have opened a version before its deletion; a restore, for example, commits a
// new manifest with the same files. Orphans must be older than the longest write takes from its
// first file to its commit.
//
// For example, a compaction has replaced data files a and b of version 7 by file c of version 8:
//
//	day 1    _versions: 7 (a b), 8 (c)    data: a b c
//	day 8    Expire deletes version 7, which was superseded a week ago
//	day 9    DeleteOrphans deletes a and b
//
// [DeleteVersions] deletes the manifests of chosen versions.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/storage/objectstore"
)

// listPage is the number of names per listing request.
const listPage = 1000

// Report counts deleted objects. In a dry run it counts the objects that would be deleted.
type Report struct {
	Versions int            `json:"versions"`
	Files    map[string]int `json:"files,omitempty"` // files other than manifests, by directory
	Bytes    int64          `json:"bytes"`           // total size of manifests and files
}

// add counts an object in a directory. Manifests count as versions.
func (r *Report) add(info objectstore.Info, dir string) {
	r.Bytes += info.Size
	if dir == manifest.VersionsDir {
		r.Versions++
		return
	}
	if r.Files == nil {
		r.Files = map[string]int{}
	}
	r.Files[dir]++
}

// An Expiry selects old versions.
type Expiry struct {
	Before time.Time // only versions that were superseded before this time
	Keep   int       // keep this many newest versions, at least one
	DryRun bool      // only count
	// Spared versions stay until they have been superseded before SparedBefore.
	Spared       []uint64
	SparedBefore time.Time
}

// isOld reports whether a version is old. replaced is the time at which the next version was made.
func (e Expiry) isOld(version uint64, replaced time.Time) bool {
	return replaced.Before(e.Before) && (replaced.Before(e.SparedBefore) || !slices.Contains(e.Spared, version))
}

// Expire deletes the manifests of old versions of a table or branch. A version's age counts from
// the creation of the next version, because it is the newest until then. Tagged versions and fork
// points of branches stay.
func Expire(ctx context.Context, t *dataset.Table, e Expiry) (Report, error) {
	var report Report
	versions, err := t.Versions(ctx, nil, -1)
	if err != nil || len(versions) <= max(e.Keep, 1) {
		return report, err
	}
	if err := checkWritable(ctx, t, versions[0]); err != nil {
		return report, err
	}
	needed, err := neededVersions(ctx, t)
	if err != nil {
		return report, err
	}
	var old []objectstore.Info
	for i, info := range versions {
		if i >= max(e.Keep, 1) && e.isOld(dataset.VersionOf(info), versions[i-1].Modified) && !needed[dataset.VersionOf(info)] {
			report.add(info, manifest.VersionsDir)
			old = append(old, info)
		}
	}
	if e.DryRun {
		return report, nil
	}
	if err := outlast(ctx, t, old); err != nil {
		return Report{}, err
	}
	return report, removeAll(ctx, t, old, func(info objectstore.Info) { t.Forget(info) })
}

// checkWritable returns an error if the newest version uses unknown writer features.
func checkWritable(ctx context.Context, t *dataset.Table, newest objectstore.Info) error {
	d, err := t.Listed(ctx, newest)
	if err != nil {
		return err
	}
	return operation.CheckWritable(d.Manifest())
}

// removeAll deletes objects in parallel and calls gone after each.
func removeAll(ctx context.Context, t *dataset.Table, objects []objectstore.Info, gone func(objectstore.Info)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for _, info := range objects {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := t.Remove(ctx, info)
			if err == nil {
				gone(info)
			}
			return err
		})
	}
	return group.Wait()
}

// orphanDirs are the directories whose files DeleteOrphans may delete.
var orphanDirs = []string{manifest.TransactionsDir, "_indices", "_deletions", "data", part.Folder, sidecarDir}

// Sidecars are files of computed columns. The column's metadata refers to its file under sidecarKey
// as "sidecar:" and the file name.
//
// Source: lancedb 0.40, table/freshness.rs.
const (
	sidecarDir       = "_computed"
	sidecarKey       = "computed_refresh.source_signature"
	sidecarReference = "sidecar:"
)

// DeleteOrphans deletes files of the table t and its branches that are older than before and that
// no version and no unfinished multipart write refers to. It calls progress regularly with the
// number of files examined; an error of progress ends the work. t must not be a branch.
//
// It cannot see shallow clones at other locations: tag the versions that they were made from.
func DeleteOrphans(ctx context.Context, t *dataset.Table, before time.Time, dryRun bool, progress func(looked int) error) (Report, error) {
	var report Report
	branches, _, err := t.Refs().Branches(ctx, "", 0)
	if err != nil {
		return report, err
	}
	places := []string{t.Place().Prefix}
	for name := range branches {
		places = append(places, t.Place().Prefix+"/"+refs.TreeDir+name)
	}
	named := &namedFiles{files: map[string]bool{}}
	for _, place := range places {
		if err := nameParts(ctx, t, place, named); err != nil { // first, because such a write may commit in the meantime
			return report, err
		}
		if err := nameFiles(ctx, t, place, named); err != nil {
			return report, err
		}
	}
	o := orphans{table: t, places: places, before: before, dryRun: dryRun, named: named.files, report: &report, progress: progress}
	for _, place := range places {
		for _, dir := range orphanDirs {
			if err := o.sweep(ctx, place, dir); err != nil {
				return report, err
			}
		}
	}
	return report, nil
}

// namedFiles is the set of files referenced by manifests, as paths within a table. The table and
// its branches share it: branches refer to files of the table, and file names are unique.
type namedFiles struct {
	mu    sync.Mutex
	files map[string]bool
}

// nameFiles adds the files referenced by the manifests at a location, including detached ones.
func nameFiles(ctx context.Context, t *dataset.Table, place string, named *namedFiles) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	err := eachObject(ctx, t, place+"/"+manifest.VersionsDir+"/", func(info objectstore.Info) error {
		if _, _, ok := manifest.ParseName(path.Base(info.Key)); ok && inner.Err() == nil {
			group.Go(func() error { return nameFilesOf(inner, t, info, named) })
		}
		return inner.Err()
	})
	return errors.Join(group.Wait(), err)
}

// nameFilesOf adds the files referenced by one manifest.
func nameFilesOf(ctx context.Context, t *dataset.Table, info objectstore.Info, named *namedFiles) error {
	m, err := manifest.Read(ctx, t.Place().Store, info.Key, info.Size)
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil // deleted by another cleanup
	}
	if err != nil {
		return err
	}
	if err := operation.CheckWritable(m); err != nil {
		return err // it may refer to files in unknown ways
	}
	indices, err := m.Indices()
	if err != nil {
		return err
	}
	named.mu.Lock()
	defer named.mu.Unlock()
	if m.TransactionFile != "" {
		named.files[manifest.TransactionsDir+"/"+m.TransactionFile] = true
	}
	for _, x := range indices {
		named.files["_indices/"+x.UUID.String()] = true
	}
	for _, f := range m.Schema.Fields {
		if digest, ok := strings.CutPrefix(f.Metadata[sidecarKey], sidecarReference); ok {
			named.files[sidecarDir+"/"+digest+".sig"] = true
		}
	}
	for _, f := range m.Fragments {
		for i := range f.Files {
			named.files["data/"+stem(f.Files[i].Path)] = true
		}
		if f.DeletionFile != nil {
			named.files[deletion.Path(f.ID, f.DeletionFile)] = true
		}
	}
	return nil
}

// uploadTime is the age up to which files of a multipart write are spared: its commit begins within
// the lifetime of the upload and takes less than an hour.
const uploadTime = part.Lifetime + time.Hour + dataset.MaxClockSkew

// nameParts adds the files of multipart writes that may still be committed.
func nameParts(ctx context.Context, t *dataset.Table, place string, named *namedFiles) error {
	parts, err := part.Place{Store: t.Place().Store, Prefix: place}.Since(ctx, t.Now().Add(-uploadTime))
	if err != nil {
		return err
	}
	for receipt, p := range parts {
		named.files[receipt] = true
		for _, f := range p.Fragments() {
			for i := range f.Files {
				named.files["data/"+stem(f.Files[i].Path)] = true
			}
		}
	}
	return nil
}

// stem returns the common name of a data file and its blob files: x for x.lance and x/1.blob. In a
// base that is no table, directories may precede it.
func stem(file string) string {
	file = strings.TrimSuffix(file, ".lance")
	return file[strings.LastIndexByte(file, '/')+1:]
}

// orphans is the state of a search for orphans.
type orphans struct {
	table    *dataset.Table
	places   []string
	before   time.Time
	dryRun   bool
	named    map[string]bool
	report   *Report
	progress func(looked int) error
	looked   int
}

// sweep deletes the orphans in a directory of a place.
func (o *orphans) sweep(ctx context.Context, place, dir string) error {
	prefix := place + "/" + dir + "/"
	// Folders of branches may nest: branch a/data lies among the files of branch a.
	within := slices.DeleteFunc(slices.Clone(o.places), func(other string) bool { return !strings.HasPrefix(other+"/", prefix) })
	var doomed []objectstore.Info
	flush := func() error {
		for _, info := range doomed {
			o.report.add(info, dir)
		}
		if !o.dryRun {
			if err := removeAll(ctx, o.table, doomed, func(objectstore.Info) {}); err != nil {
				return err
			}
		}
		doomed = doomed[:0]
		return o.progress(o.looked)
	}
	err := eachObject(ctx, o.table, prefix, func(info objectstore.Info) error {
		o.looked++
		others := slices.ContainsFunc(within, func(other string) bool { return strings.HasPrefix(info.Key, other+"/") })
		if !others && info.Modified.Before(o.before) && !o.named[dir+"/"+unit(dir, info.Key[len(prefix):])] {
			doomed = append(doomed, info)
		}
		if o.looked%listPage == 0 {
			return flush()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("clean up %s of %s: %w", dir, o.table.Place().URI, err)
	}
	return flush()
}

// unit returns the part of a path below dir that manifests refer to.
func unit(dir, file string) string {
	switch dir {
	case "_indices": // the directory of a segment
		first, _, _ := strings.Cut(file, "/")
		return first
	case "data":
		first, _, _ := strings.Cut(file, "/")
		return stem(first)
	}
	return file
}

// eachObject calls f with all objects whose keys begin with a prefix.
func eachObject(ctx context.Context, t *dataset.Table, prefix string, f func(objectstore.Info) error) error {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPage}
	for info, err := range objectstore.Objects(ctx, t.Place().Store, opts) {
		if err != nil {
			return fmt.Errorf("list %s of %s: %w", strings.TrimPrefix(prefix, t.Place().Prefix+"/"), t.Place().URI, err)
		}
		if err := f(info); err != nil {
			return err
		}
	}
	return nil
}
