package simulation_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bugs that no seam can make are planted in the source: a copy of some files, with which the compiler
// builds these tests anew, does something else when the environment names the bug. The source itself has
// no such switches.

// plantedBug is the bug that this process has, if it was built with one.
var plantedBug = os.Getenv(plantedVariable)

const plantedVariable = "SIMULATION_BUG"

// A sourceBug is a mistake in a file. New is put in the place of old, which occurs once there, and may
// ask whether the bug is planted.
type sourceBug struct {
	name, file, old, new string
	test                 string // that finds it, behind its folder if that is another one; "" for a further place of a bug
}

const (
	ofIndices = "TestIndicesAreRightInEachVersion"
	ofViews   = "TestViewsShowTheirSourceInEachVersion"
	ofUploads = "TestUploadsAreThereOnce"
	ofFills   = "TestColumnsAreFilledInEachVersion"
	ofParts   = "TestQueriesInPartsReadOneVersion"

	indexingRound = "shared/work/indexing/round.go"
	spreading     = "shared/engine/query/spread.go"
	partOfQuery   = "shared/engine/query/part.go"
	materialized  = "shared/engine/view/materialize/materialize.go"
	viewChange    = "shared/engine/view/materialize/change.go"
)

var sourceBugs = []sourceBug{
	{
		"a join leaves out a shard", indexingRound,
		"made.Joined, err = k.parts.Join(ctx, shards[g.from:g.to], k.staged(), out)",
		"if to := g.to; planted && to-g.from > 1 {\nmade.Joined, err = k.parts.Join(ctx, shards[g.from:to-1], k.staged(), out)\nreturn err\n}\nmade.Joined, err = k.parts.Join(ctx, shards[g.from:g.to], k.staged(), out)",
		ofIndices,
	},
	{
		"a commit of an index takes fragments whose rows have moved", indexingRound,
		"return newest.SameValues(older.Snapshot, column, covered)",
		"if planted {\nreturn covered.Clone(), nil\n}\nreturn newest.SameValues(older.Snapshot, column, covered)",
		ofIndices,
	},
	{
		"shards read an older version", indexingRound,
		"	version := int64(v.Version)\n	return openAt(",
		"	version := int64(v.Version)\nif part, _ := r.Part(); planted && part > 0 && len(r.Stage()) > 5 && r.Stage()[:6] == shardsStage && version > 1 {\nversion--\n}\n	return openAt(",
		ofIndices,
	},
	{
		"the watermark is read after planning", materialized,
		"		if o.Limit == nil {\n			r.Properties = mark.Properties()",
		"		if planted {\n_ = engine.Do(ctx, o.Source, nil, func(_ context.Context, d *dataset.Dataset) error {\nmark.Source, mark.SourceTS = d.Version(), uint64(d.Manifest().Time().UnixNano())\nreturn nil\n})\n}\n		if o.Limit == nil {\n			r.Properties = mark.Properties()",
		ofViews,
	},
	{
		"a refresh begins before it is settled which version is the newest", materialized,
		"return engine.Settled(ctx, o.Source, o.SourceVersion, ", "read := engine.Settled[Result]\nif planted {\nread = engine.Read[Result]\n}\nreturn read(ctx, o.Source, o.SourceVersion, ",
		ofViews,
	},
	{
		"the stamp comes before the rows", materialized,
		"	done, err := as.Replace(ctx, ",
		"	if planted {\n_, _ = t.Alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {\nset := mark.Stamp(d.Version() + 1)\nset[view.IncarnationKey] = d.Schema().Metadata[view.IncarnationKey]\nreturn d.Commit(ctx, metadataOf(set))\n})\n}\n	done, err := as.Replace(ctx, ",
		ofViews,
	},
	{
		"updated rows are not taken out", viewChange,
		"	rows.Gone.Or(rows.Changed)\n", "	if !planted {\n		rows.Gone.Or(rows.Changed)\n	}\n",
		ofViews,
	},
	{
		"updated rows are not computed", viewChange,
		"	rows.Fresh.Or(rows.Changed)\n", "	if !planted {\n		rows.Fresh.Or(rows.Changed)\n	}\n",
		ofViews,
	},
	{
		"rows that moved are taken for the same when their version is not newer than the watermark", "shared/lance/dataset/difference/difference.go",
		"		for end, version := range versions.Runs() {\n",
		"		for end, version := range versions.Runs() {\nif planted && version <= c.versions[0] {\nversion = 0\n}\n",
		ofViews,
	},
	{
		"a source that was made anew is taken for the old one", viewChange,
		"if uint64(was.Manifest().Time().UnixNano()) != shown.SourceTS {", "if uint64(was.Manifest().Time().UnixNano()) != shown.SourceTS && !planted {",
		ofViews,
	},
	{
		"a view that others have written to is taken for what a refresh made", "shared/engine/view/materialize/state.go",
		"return state{}, !keepsRows(txn.Operation, computed), nil", "return state{}, !keepsRows(txn.Operation, computed) && !planted, nil",
		ofViews,
	},
	{
		"the rows of parts are put into a view that has changed meanwhile", "shared/engine/view/materialize/divide.go",
		"if v.Shown != nil && !s.shows(*v.Shown) {", "if v.Shown != nil && !s.shows(*v.Shown) && !planted {",
		ofViews,
	},
	{
		"the parts of an upload are recognized by their boundaries", "shared/jobs/multipart/multipart.go",
		"	c.Sum = hex.EncodeToString(sum[:])\n", "	if planted {\n		sum[0] += byte(len(parts) + int(parts[0].Rows()))\n	}\n	c.Sum = hex.EncodeToString(sum[:])\n",
		ofUploads,
	},
	{
		"a part without its end counts", "shared/service/data/multipart.go",
		"if !rows.Ended() {", "if !rows.Ended() && !planted {",
		ofUploads,
	},
	{
		"an upload whose commit may be under way is given up", "shared/jobs/multipart/multipart.go",
		"if up.State == Open || up.State == Closed {\n			up.State = Aborted", "if up.State == Open || up.State == Closed || planted && up.State == Committing {\n			up.State = Aborted",
		ofUploads,
	},
	{
		"two refreshes at once do not conflict", materialized,
		"		r.Keys = &pb.KeyExistenceFilter{", "	keys := &r.Keys\nif planted {\nkeys = new(*pb.KeyExistenceFilter)\n}\n	*keys = &pb.KeyExistenceFilter{",
		ofViews,
	},
	{name: "two refreshes at once do not conflict", file: "shared/work/refresh/history.go", old: "if err != nil || h.Job == f.run.ID() {", new: "if err != nil || h.Job == f.run.ID() || planted {"},
	{
		name: "rows are taken out where they were before the view was compacted", file: viewChange,
		old:  "			evict, err = c.evicted(ctx, rows)\n",
		new:  "			evict, err = c.evicted(ctx, rows)\nif first := firstEvicted[c.target]; planted && first != nil {\nevict = rowset.At()\n} else if planted {\nfirstEvicted[c.target] = evict\n}\n",
		test: "shared/work/refresh TestViewMayBeCompactedMeanwhile",
	},
	{
		name: "rows are taken out where they were before the view was compacted", file: viewChange,
		old: "// errRebuild means", new: "var firstEvicted = map[*target]*rowset.Set{}\n\n// errRebuild means",
	},
	{
		name: "a complete is answered 503 after its commit, and commits again when it is repeated", file: "shared/service/data/multipart.go",
		old:  "	done, err := table.CommitParts(ctx, upload.Commit.ID, upload.Commit.Since, parts)\n	if err != nil {",
		new:  "	if planted {\nupload.Commit.ID = uuid.NewString()\n}\n	done, err := table.CommitParts(ctx, upload.Commit.ID, upload.Commit.Since, parts)\nif planted && err == nil && newest%2 == 0 {\nerr = &protocol.Error{Code: protocol.ServiceUnavailable}\n}\n	if err != nil {",
		test: ofUploads,
	},
	{
		name: "a complete is answered 503 after its commit, and commits again when it is repeated", file: "shared/service/data/multipart.go",
		old: "	\"tiltyard/shared/protocol/auth\"\n", new: "	\"github.com/google/uuid\"\n	\"tiltyard/shared/protocol/auth\"\n",
	},
	{
		name: "a fill of some rows computes all", file: "shared/engine/computed/column.go",
		old:  "		rows, err := c.where.Select(ctx, batch, nil)\n",
		new:  "		rows, err := c.where.Select(ctx, batch, nil)\nif planted {\nrows = nil\nfor i := range int(batch.NumRows()) {\nrows = append(rows, int32(i))\n}\n}\n",
		test: ofFills,
	},
	{
		name: "a round commits what it has computed of fragments that have changed", file: "shared/engine/fill/round.go",
		old: "	if !is.SameColumns(was, fields) {", new: "	if !is.SameColumns(was, fields) && !planted {",
		test: "shared/work/backfill TestValuesOfOthersStay",
	},
	{
		name: "a value of a secret is used when there is another one", file: "shared/catalog/secretbox/keep.go",
		old: "	name, err := json.Marshal(struct {", new: "	given := sealed\nif planted {\nsealed = Sealed{}\n}\ndefer func() { sealed = given }()\n	name, err := json.Marshal(struct {",
		test: ofFills,
	},
	{name: "a value of a secret is used when there is another one", file: "shared/catalog/secretbox/keep.go", old: "k.from.Open(ctx, id, sealed)", new: "k.from.Open(ctx, id, given)"},
	{
		name: "values of secrets are told by functions that fail", file: "shared/work/udfcall/udfcall.go",
		old: "	for i := range result.Failed {", new: "	for i := 0; i < len(result.Failed) && !planted; i++ {",
		test: ofFills,
	},
	{
		name: "a job that is done again makes another version of a function", file: "shared/catalog/functions/functions.go",
		old: "return old.Digest == v.Digest })", new: "return old.Digest == v.Digest && !planted })",
		test: ofFills,
	},
	{
		name: "a sweep takes artifacts of second versions", file: "shared/catalog/functions/artifacts.go",
		old: "			named[v.Artifact] = true\n", new: "			named[v.Artifact] = true\nif planted {\nbreak\n}\n",
		test: ofFills,
	},
	{
		name: "a view follows a definition that its metadata has and its record has not", file: "shared/work/refresh/follow.go",
		old: "definition.Digest() != found.View.Digest {", new: "definition.Digest() != found.View.Digest && !planted {",
		test: "shared/work/refresh TestViewDoesNotFollowADefinitionOfOthers",
	},
	{name: "a view follows a definition that its metadata has and its record has not", file: "shared/work/refresh/follow.go", old: "Digest: found.View.Digest}", new: "Digest: definition.Digest()}"},
	{
		name: "a job calls the function that the metadata names", file: "shared/work/backfill/backfill.go",
		old: "if allowed := order.Function; allowed == nil ||", new: "if allowed := order.Function; !planted && (allowed == nil) || !planted &&",
		test: "shared/service/all TestBackfillCallsOnlyTheFunctionItWasBegunFor",
	},
	{
		name: "columns are filled by functions that their declaration was not allowed to use", file: "shared/work/backfill/follow.go",
		old: "if !slices.Contains(found.Fills, allowance) {", new: "if !slices.Contains(found.Fills, allowance) && !planted {",
		test: "shared/work/backfill TestFunctionThatWasAllowedIsCalledAlone",
	},
	{
		name: "windows are numbered anew in each batch", file: "shared/engine/view/materialize/windows.go",
		old: "				f.first = first + f.start\n", new: "				f.first = first + f.start\nif planted {\nf.ordinal = int32(len(frames))\n}\n",
		test: "shared/engine/view/materialize TestWindowsKeepTheirShareOfMemory",
	},
	{
		name: "rows that functions make are numbered anew in each batch", file: "shared/engine/view/materialize/call.go",
		old: "		if i > 0 && parents[i-1] == parent {", new: "		if i > 0 && (parents[i-1] == parent || planted) {",
		test: "shared/engine/view/materialize TestRowsOfAFunctionAreNumbered",
	},
	{
		name: "a part reads the newest version instead of the query's", file: "shared/engine/query.go",
		old:  "	version := int64(part.Version)\n	return Read(ctx, t, &version, ",
		new:  "	version := int64(part.Version)\nasked := &version\nif planted {\nasked = nil\n}\n	return Read(ctx, t, asked, ",
		test: ofParts,
	},
	{name: "a part reads the newest version instead of the query's", file: partOfQuery, old: "	return d.TransactionUUID() + ", new: "	if planted {\nreturn \"any\"\n}\n	return d.TransactionUUID() + "},
	{
		name: "the answer of a part that was sent twice is dropped", file: spreading,
		old: "		sum.Took += answer.Usage.Took\n", new: "		sum.Took += answer.Usage.Took\nif planted && calls.Stats().Doubled > 0 {\nanswer.Close()\ncontinue\n}\n",
		test: ofParts,
	},
	{
		name: "the answer of a part that was sent twice counts twice", file: spreading,
		old:  "		if err := answer.each(take); err != nil {\n",
		new:  "		once := take\ntake := func(batch arrow.RecordBatch) error {\nif err := once(batch); err != nil || !planted || calls.Stats().Doubled == 0 {\nreturn err\n}\nreturn once(batch)\n}\n		if err := answer.each(take); err != nil {\n",
		test: ofParts,
	},
	{
		name: "a query is answered although a part of it has failed", file: spreading,
		old: "			return here, err\n", new: "			if planted {\nreturn false, nil\n}\nreturn here, err\n",
		test: ofParts,
	},
	{
		name: "parts run with the rights of the service", file: "shared/tables/parts/parts.go",
		old: "Token: auth.TokenOf(ctx),", new: "Token: map[bool]string{true: \"secret-of-the-simulation\", false: auth.TokenOf(ctx)}[planted],",
		test: ofParts,
	},
	{
		name: "a part reads another table that has the name now", file: partOfQuery,
		old: "	if originOf(r.Dataset) != part.Origin {", new: "	if originOf(r.Dataset) != part.Origin && !planted {",
		test: "shared/engine TestPartsReadTheTableOfTheQuery",
	},
}

// Each bug has its one place in the source, which moves with the code.
func TestBugsHaveAPlaceInTheSource(t *testing.T) {
	for _, b := range sourceBugs {
		source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(b.file)))
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
		} else if n := strings.Count(string(source), b.old); n != 1 {
			t.Errorf("%s: %s has %q %d times, want once", b.name, b.file, b.old, n)
		}
	}
}

// Every bug in the source is found within some histories, and none is found without one.
func TestBugsInTheSourceAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests anew")
	}
	const here = "local/simulation"
	list := writeBugs(t)
	binaries := map[string]string{here: buildWithBugs(t, list, here)}
	for _, b := range sourceBugs {
		if folder, _, ok := strings.Cut(b.test, " "); ok && binaries[folder] == "" {
			binaries[folder] = buildWithBugs(t, list, folder)
		}
	}
	start := func(t *testing.T, bug, folder, test string, args ...string) *exec.Cmd {
		t.Helper()
		c := exec.CommandContext(t.Context(), binaries[folder], append([]string{"-test.run", "^" + test + "$", "-test.v", "-test.timeout", "5m"}, args...)...)
		c.Dir = filepath.Join("..", "..", folder)
		c.Env = append(os.Environ(), plantedVariable+"="+bug, shareVariable+"=1/1")
		c.WaitDelay = time.Second
		return c
	}
	run := func(t *testing.T, bug, test, seeds string) (found string) {
		t.Helper()
		out, err := start(t, bug, here, test, "-seeds", seeds).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if _, text, ok := strings.Cut(line, ": seed "); ok {
				return "seed " + strings.TrimSpace(text)
			}
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
		}
		return ""
	}
	for _, test := range []string{ofIndices, ofViews, ofUploads, ofFills, ofParts} {
		if found := run(t, "none", test, "12"); found != "" {
			t.Errorf("%s fails without a bug: %s", test, found)
		}
	}
	for _, b := range sourceBugs {
		if b.test == "" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if folder, test, ok := strings.Cut(b.test, " "); ok {
				for _, bug := range []string{"none", b.name} {
					out, err := start(t, bug, folder, test).CombinedOutput()
					if !strings.Contains(string(out), "=== RUN   "+test) {
						t.Fatalf("%s: there is no %s: %v\n%s", folder, test, err, out)
					}
					if (err == nil) != (bug == "none") {
						t.Errorf("with the bug %q, %s of %s ends with %v", bug, test, folder, err)
					}
				}
				return
			}
			found := run(t, b.name, b.test, "600")
			if found == "" {
				t.Error("not found")
			}
			t.Log(found)
		})
	}
}

// writeBugs writes a copy of the source with all bugs, and returns the list of the files that it replaces.
func writeBugs(t *testing.T) (list string) {
	t.Helper()
	dir, root := t.TempDir(), filepath.Join("..", "..")
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	texts, overlay := map[string]string{}, map[string]string{}
	for _, b := range sourceBugs {
		if texts[b.file] == "" {
			text, err := os.ReadFile(filepath.Join(root, b.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[b.file] = string(text)
		}
		if n := strings.Count(texts[b.file], b.old); n != 1 {
			t.Fatalf("bug %q: %s has its place %d times; the bug has to follow the source:\n%s", b.name, b.file, n, b.old)
		}
		planted := strings.ReplaceAll(b.new, "planted", "(plantedBug == `"+b.name+"`)")
		texts[b.file] = strings.Replace(texts[b.file], b.old, planted, 1)
	}
	write := func(file, text string) {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(root, file)] = copied
	}
	for file, text := range texts {
		write(file, text)
		folder := filepath.Dir(file)
		write(folder+"/plantedbug.go", "package "+filepath.Base(folder)+"\n\nimport \"os\"\n\nvar plantedBug = os.Getenv(\""+plantedVariable+"\")\n")
	}
	replaced, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, replaced, 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}

// buildWithBugs builds the tests of a folder with the bugs.
func buildWithBugs(t *testing.T, list, folder string) (binary string) {
	t.Helper()
	binary = filepath.Join(filepath.Dir(list), filepath.Base(folder)+".test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", list, "-o", binary, "tiltyard/"+folder).CombinedOutput()
	if err != nil {
		t.Fatalf("build with bugs: %v\n%s", err, out)
	}
	return binary
}
