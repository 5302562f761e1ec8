package dataset

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

	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/deletion"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/objectstore"
)

// Cleaning up takes two steps, with time between them. ExpireVersions deletes the manifests
// of old versions; DeleteOrphans deletes files that no manifest names any more. The time must
// be longer than any request takes that may have opened one of the versions before, such as a
// restore of it, which will name its files in a new manifest. And what is to be deleted must
// be older than any write takes that puts files first and names them later.

// CleanupReport counts what was deleted, or would be.
type CleanupReport struct {
	Versions int            `json:"versions"`
	Files    map[string]int `json:"files,omitempty"` // other than manifests, by directory
	Bytes    int64          `json:"bytes"`           // of all of them
}

func (r *CleanupReport) add(info objectstore.Info, dir string) {
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

// An Expiry says which versions are old.
type Expiry struct {
	Before time.Time // when the version after it was made
	Keep   int       // the newest ones, however old; one is kept at least
	DryRun bool      // only count
	// Spared versions stay until [Expiry.SparedBefore] is later than when the version after them was made.
	Spared       []uint64
	SparedBefore time.Time
}

// isOld reports whether a version has to go, when the next one was made at a time.
func (e Expiry) isOld(version uint64, replaced time.Time) bool {
	return replaced.Before(e.Before) && (replaced.Before(e.SparedBefore) || !slices.Contains(e.Spared, version))
}

// ExpireVersions deletes the manifests of old versions. A version begins to age when the next
// one is made, and not before: until then it is what everybody reads. Versions that have
// tags stay, and so do those that branches were made from. It is called on the table or on
// one of its branches, whose versions these are.
func (t *Table) ExpireVersions(ctx context.Context, e Expiry) (CleanupReport, error) {
	var report CleanupReport
	versions, err := t.Versions(ctx, nil, -1)
	if err != nil || len(versions) <= max(e.Keep, 1) {
		return report, err
	}
	if err := t.checkWritable(ctx, versions[0]); err != nil {
		return report, err
	}
	needed, err := t.neededVersions(ctx)
	if err != nil {
		return report, err
	}
	var old []objectstore.Info
	for i, info := range versions {
		if i >= max(e.Keep, 1) && e.isOld(VersionOf(info), versions[i-1].Modified) && !needed[VersionOf(info)] {
			report.add(info, manifest.VersionsDir)
			old = append(old, info)
		}
	}
	if e.DryRun {
		return report, nil
	}
	if err := t.outlast(ctx, old); err != nil {
		return CleanupReport{}, err
	}
	return report, t.removeAll(ctx, old, func(info objectstore.Info) {
		t.session.Cache.Drop(t.at.Cached, datasetPart(info.Key))
	})
}

// checkWritable refuses a table that may need what we know nothing of.
func (t *Table) checkWritable(ctx context.Context, newest objectstore.Info) error {
	d, err := t.loadListed(ctx, manifest.Location{
		Key: newest.Key, Size: newest.Size, ETag: newest.ETag, Version: VersionOf(newest), Scheme: schemeOf(newest),
	})
	if err != nil {
		return err
	}
	return operation.CheckWritable(d.Manifest())
}

func schemeOf(info objectstore.Info) manifest.Scheme {
	_, scheme, _ := manifest.ParseName(path.Base(info.Key))
	return scheme
}

// removeAll deletes objects side by side, and calls gone after each.
func (t *Table) removeAll(ctx context.Context, objects []objectstore.Info, gone func(objectstore.Info)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	for _, info := range objects {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := t.remove(ctx, info)
			if err == nil {
				gone(info)
			}
			return err
		})
	}
	return group.Wait()
}

// orphanDirs are the directories that are searched for files that nobody names. What lies
// elsewhere is not of a kind that is known.
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

// DeleteOrphans deletes files of the table, and of its branches, that were written before a
// time and that no version names, neither of the table nor of any branch, and no multipart write
// that may still be committed. progress is called
// now and then, with how many were looked at; its error ends the work. It is called on the
// table, not on one of its branches.
//
// Shallow clones at other places are not known here. They need the versions that they were
// made from: tag those.
func (t *Table) DeleteOrphans(ctx context.Context, before time.Time, dryRun bool, progress func(looked int) error) (CleanupReport, error) {
	var report CleanupReport
	branches, _, err := t.Branches(ctx, "", 0)
	if err != nil {
		return report, err
	}
	places := []string{t.at.Prefix}
	for name := range branches {
		places = append(places, t.at.Prefix+"/"+refs.TreeDir+name)
	}
	named := &namedFiles{files: map[string]bool{}}
	for _, place := range places {
		if err := t.nameParts(ctx, place, named); err != nil { // first: their commit may come in between
			return report, err
		}
		if err := t.nameFiles(ctx, place, named); err != nil {
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

// namedFiles are the files that manifests name, by their paths within a table. Whose table is
// not told apart: branches share files with the table, and names are used once.
type namedFiles struct {
	mu    sync.Mutex
	files map[string]bool
}

// nameFiles reads all manifests at a place, those outside of the history, too.
func (t *Table) nameFiles(ctx context.Context, place string, named *namedFiles) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(snapshot.MaxConcurrentReads)
	err := t.eachObject(ctx, place+"/"+manifest.VersionsDir+"/", func(info objectstore.Info) error {
		if _, _, ok := manifest.ParseName(path.Base(info.Key)); ok && inner.Err() == nil {
			group.Go(func() error { return t.nameFilesOf(inner, info, named) })
		}
		return inner.Err()
	})
	return errors.Join(group.Wait(), err)
}

func (t *Table) nameFilesOf(ctx context.Context, info objectstore.Info, named *namedFiles) error {
	m, err := manifest.Read(ctx, t.at.Store, info.Key, info.Size)
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

// uploadTime is how long the files of a part are spared: the commit of its upload begins within the
// lifetime of that, and ends within an hour.
const uploadTime = part.Lifetime + time.Hour + maxClockSkew

// nameParts reads the receipts of the parts at a place that may still be committed.
func (t *Table) nameParts(ctx context.Context, place string, named *namedFiles) error {
	parts, err := part.Place{Store: t.at.Store, Prefix: place}.Since(ctx, t.session.now().Add(-uploadTime))
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

// stem is what a data file and the blobs beside it have in common: x of x.lance and x/1.blob.
// The path of a file in a base that is no table may have directories in front.
func stem(file string) string {
	file = strings.TrimSuffix(file, ".lance")
	return file[strings.LastIndexByte(file, '/')+1:]
}

// orphans are the files that nobody names, on their way out.
type orphans struct {
	table    *Table
	places   []string
	before   time.Time
	dryRun   bool
	named    map[string]bool
	report   *CleanupReport
	progress func(looked int) error
	looked   int
}

// sweep deletes the orphans in one directory of a place.
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
			if err := o.table.removeAll(ctx, doomed, func(objectstore.Info) {}); err != nil {
				return err
			}
		}
		doomed = doomed[:0]
		return o.progress(o.looked)
	}
	err := o.table.eachObject(ctx, prefix, func(info objectstore.Info) error {
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
		return fmt.Errorf("clean up %s of %s: %w", dir, o.table.at.URI, err)
	}
	return flush()
}

// unit is the part of a file's path in a directory that manifests name.
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
func (t *Table) eachObject(ctx context.Context, prefix string, f func(objectstore.Info) error) error {
	opts := objectstore.ListOptions{Prefix: prefix, Limit: listPage}
	for info, err := range objectstore.Objects(ctx, t.at.Store, opts) {
		if err != nil {
			return fmt.Errorf("list %s of %s: %w", strings.TrimPrefix(prefix, t.at.Prefix+"/"), t.at.URI, err)
		}
		if err := f(info); err != nil {
			return err
		}
	}
	return nil
}
