// Package cleanup deletes old versions of a table and files that no version names. It works in two steps with time between
// them: [Expire] deletes the manifests of old versions, and [DeleteOrphans] deletes files that no manifest names any more. The
// time must be longer than any request that may have opened a version before its deletion, such as a restore, whose new
// manifest names the same files. Orphans must be older than any write takes from its first file to its commit.
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
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/objectstore"
)

// listPage is the number of names of one request of a listing.
const listPage = 1000

// Report counts the deleted objects, or those that would be deleted.
type Report struct {
	Versions int            `json:"versions"`
	Files    map[string]int `json:"files,omitempty"` // other than manifests, by directory
	Bytes    int64          `json:"bytes"`           // of all of them
}

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
	Before time.Time // when the version after it was made
	Keep   int       // the newest ones, however old; one is kept at least
	DryRun bool      // only count
	// Spared versions stay until [Expiry.SparedBefore] is later than when the version after them was made.
	Spared       []uint64
	SparedBefore time.Time
}

// isOld reports whether a version is old, given when the next one was made.
func (e Expiry) isOld(version uint64, replaced time.Time) bool {
	return replaced.Before(e.Before) && (replaced.Before(e.SparedBefore) || !slices.Contains(e.Spared, version))
}

// Expire deletes the manifests of old versions of a table or a branch. The age of a version counts from the creation of the
// next one, because it is the newest until then. Versions with tags stay, and those that branches were made from.
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

// checkWritable returns an error if the newest version has features that this writer does not know.
func checkWritable(ctx context.Context, t *dataset.Table, newest objectstore.Info) error {
	d, err := t.Listed(ctx, newest)
	if err != nil {
		return err
	}
	return operation.CheckWritable(d.Manifest())
}

// removeAll deletes objects side by side and calls gone after each.
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

// Sidecars belong to computed columns: the metadata of such a column names its own by this key, as
// "sidecar:" and the name of the file.
//
// Source: lancedb 0.40, table/freshness.rs.
const (
	sidecarDir       = "_computed"
	sidecarKey       = "computed_refresh.source_signature"
	sidecarReference = "sidecar:"
)

// DeleteOrphans deletes files of the table t and its branches that were written before a time and that neither a version of
// them nor a multipart write that may still be committed names. It calls progress now and then with the number of files it
// has looked at; an error of progress ends the work. t must not be a branch.
//
// Shallow clones at other places are unknown to it: tag the versions that they were made from.
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
		if err := nameParts(ctx, t, place, named); err != nil { // first: their commit may come in between
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

// namedFiles are the files that manifests name, by their paths within a table. Tables and branches share one set: branches
// name files of the table, and no two files have the same name.
type namedFiles struct {
	mu    sync.Mutex
	files map[string]bool
}

// nameFiles adds the files that the manifests at a place name, detached ones included.
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

// nameFilesOf adds the files that a manifest names.
func nameFilesOf(ctx context.Context, t *dataset.Table, info objectstore.Info, named *namedFiles) error {
	m, err := manifest.Read(ctx, t.Place().Store, info.Key, info.Size)
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil // another cleanup
	}
	if err != nil {
		return err
	}
	if err := operation.CheckWritable(m); err != nil {
		return err // it may name files in ways that we do not know
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

// uploadTime is the age up to which files of a part are spared: its commit begins within the lifetime of the upload and takes
// less than an hour.
const uploadTime = part.Lifetime + time.Hour + dataset.MaxClockSkew

// nameParts adds the files of the parts at a place that may still be committed.
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

// stem returns the common part of the names of a data file and its blob files: x for x.lance and x/1.blob. In a base that is
// no table, directories may precede it.
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
	// A branch may lie among the files of another: a/data among those of a.
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

// unit returns the part of a path below a directory that manifests name.
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
