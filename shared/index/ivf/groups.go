package ivf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/quantize"
	"tiltyard/shared/index/vector"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/encoding"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
)

// groupsFile has the partitions of a large segment in groups, for searches that read only some of the centroids. It
// repeats what the other files have, in an order of its own. Native Lance does not know it, and writes segments without
// it. It is an ordinary data file, with a row for each partition, the partitions of a group together:
//
//	partition  u32       its number
//	from       u64       its first row of auxiliary.idx
//	count      u32       and the number of its rows
//	centroid   list      of a fixed size
//
// The metadata of its schema are
//
//	lance:index      as in index.idx
//	tiltyard:groups  number of the global buffer with a model: for each group, the mean of its centroids, and its rows
//	                 of this file
//	tiltyard:rows    number of rows of auxiliary.idx
//
// A search ranks the groups by their means, reads the nearest ones, and ranks the partitions of these.
const groupsFile = "groups.idx"

// Keys in the metadata of the groups file.
const (
	groupsKey = "tiltyard:groups"
	rowsKey   = "tiltyard:rows"
)

// groups are the groups of a segment.
type groups struct {
	file       *datafile.File
	fields     []*schema.Field // of the columns, in the order above
	rows       []span          // of each group in the file
	means      *quantize.Tensor
	partitions int
	stored     int64 // rows of auxiliary.idx
}

// A group is the partitions of a group.
type group struct {
	numbers   []uint32
	rows      []span // of auxiliary.idx, by partition of the group
	centroids *quantize.Tensor
}

func (g *group) bytes() int64 {
	const perPartition = 4 + 16
	return perPartition*int64(len(g.numbers)) + 4*int64(len(g.centroids.Values))
}

// members are the partitions of the groups that a search has read.
type members struct {
	mu   sync.Mutex
	have map[int]member // by partition
	read map[int]*group // by group
}

type member struct {
	rows     span
	centroid []float32
}

// of returns a partition of a group that was read.
func (m *members) of(number int) member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.have[number]
}

// openGrouped opens a segment without its centroids.
func openGrouped(ctx context.Context, files index.Files) (*Index, error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	var top, storage described
	err = sideBySide(ctx,
		func(ctx context.Context) (err error) { top, err = describe(ctx, files, groupsFile); return err },
		func(ctx context.Context) (err error) { storage, err = describe(ctx, files, storageFile); return err })
	if err != nil {
		return nil, err
	}
	x := &Index{storage: storage.File}
	spec, err := x.describedBy(top, storage)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(x.Kind, "IVF_HNSW_") {
		return nil, fmt.Errorf("%w: %s: groups of partitions with graphs", lance.ErrUnsupported, groupsFile)
	}
	var around *model
	err = sideBySide(ctx,
		func(ctx context.Context) (err error) { around, err = top.model(ctx, groupsKey); return err },
		func(ctx context.Context) (err error) {
			spec.Buffer, err = storage.quantizerBuffer(ctx, spec)
			return err
		})
	if err != nil {
		return nil, err
	}
	if x.groups, err = newGroups(top, around, storage.NumRows()); err != nil {
		return nil, fmt.Errorf("%s: %w", groupsFile, err)
	}
	return x, x.join(storage, around.centroids, x.groups.partitions, spec)
}

// newGroups checks that the groups fit the file, and the file the storage.
func newGroups(top described, around *model, stored int64) (*groups, error) {
	g := &groups{file: top.File, rows: around.rows, means: around.centroids, partitions: int(top.NumRows()), stored: stored}
	if rows := top.schema.Metadata[rowsKey]; rows != strconv.FormatInt(stored, 10) {
		return nil, fmt.Errorf("%w: groups of %q rows of %d", lance.ErrCorrupt, rows, stored)
	}
	if g.means == nil || g.means.Rows != len(g.rows) || top.NumRows() > maxPartitions {
		return nil, fmt.Errorf("%w: %d groups of %d partitions without a mean for each", lance.ErrCorrupt, len(g.rows), top.NumRows())
	}
	next := int64(0)
	for i, r := range g.rows {
		if r.from != next || r.to() > top.NumRows() {
			return nil, fmt.Errorf("%w: group %d is rows %d to %d of %d", lance.ErrCorrupt, i, r.from, r.to(), top.NumRows())
		}
		next = r.to()
	}
	if next != top.NumRows() {
		return nil, fmt.Errorf("%w: %d partitions of %d are in groups", lance.ErrCorrupt, next, top.NumRows())
	}
	types := []arrow.Type{arrow.UINT32, arrow.UINT64, arrow.UINT32}
	for i, name := range []string{"partition", "from", "count", "centroid"} {
		field := top.schema.Field(name)
		fits := field != nil
		if fits && i < len(types) {
			fits = field.Arrow().Type.ID() == types[i]
		} else if fits {
			fits = holds(field.Arrow().Type, quantize.Column{Element: g.means.Element, Width: g.means.Width})
		}
		if !fits {
			return nil, fmt.Errorf("%w: no column %s of the expected type", lance.ErrCorrupt, name)
		}
		g.fields = append(g.fields, field)
	}
	return g, nil
}

func groupName(number int) string { return "group " + strconv.Itoa(number) }

// load reads groups that were not read yet, and returns all in the given order. Their memory is taken until the
// request ends.
func (x *Index) load(ctx context.Context, numbers []int) ([]*group, error) {
	x.members.mu.Lock()
	defer x.members.mu.Unlock()
	var missing []int
	for _, number := range numbers {
		if x.members.read[number] != nil {
			continue
		}
		kept, err := x.files.Keep(groupName(number), func() (any, int64, error) { return nil, 0, errNotKept })
		switch {
		case errors.Is(err, errNotKept):
			missing = append(missing, number)
		case err != nil:
			return nil, err
		default:
			if err := x.members.add(ctx, number, kept.(*group)); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(missing)
	if err := x.readGroups(ctx, missing); err != nil {
		return nil, fmt.Errorf("%s: %w", groupsFile, err)
	}
	all := make([]*group, len(numbers))
	for i, number := range numbers {
		all[i] = x.members.read[number]
	}
	return all, nil
}

// add adds a group. The caller has the lock.
func (m *members) add(ctx context.Context, number int, g *group) error {
	const perMember = 100 // of the map
	if err := memory.FromContext(ctx).Take(ctx, g.bytes()+perMember*int64(len(g.numbers))); err != nil {
		return err
	}
	m.read[number] = g
	for i, partition := range g.numbers {
		m.have[int(partition)] = member{g.rows[i], g.centroids.Values[i*g.centroids.Width:][:g.centroids.Width]}
	}
	return nil
}

// readGroups reads groups in one round of requests, caches and adds them.
func (x *Index) readGroups(ctx context.Context, numbers []int) error {
	if len(numbers) == 0 {
		return nil
	}
	reading, room, err := memory.Within(ctx)
	if err != nil {
		return err
	}
	defer room.Close()
	var ranges []encoding.RowRange
	for _, number := range numbers {
		if r := x.groups.rows[number]; r.count > 0 {
			ranges = append(ranges, encoding.RowRange{From: int(r.from), To: int(r.to())})
		}
	}
	columns, err := x.groups.file.ReadRanges(reading, x.groups.fields, ranges)
	if err != nil {
		return err
	}
	width := (quantize.Column{Element: x.Element, Width: x.groups.means.Width}).RowBytes()
	var bytes [4][]byte
	for i, each := range []int{4, 8, 4, width} {
		if bytes[i], err = plainBytes(columns[i], encoding.CountRows(ranges), each); err != nil {
			return err
		}
	}
	at := 0
	for _, number := range numbers {
		n := int(x.groups.rows[number].count)
		g, err := x.newGroup(bytes, at, n, width)
		if err != nil {
			return fmt.Errorf("group %d: %w", number, err)
		}
		at += n
		if err := x.members.add(ctx, number, g); err != nil {
			return err
		}
		if _, err := x.files.Keep(groupName(number), func() (any, int64, error) { return g, g.bytes(), nil }); err != nil {
			return err
		}
	}
	return nil
}

// newGroup returns the group in n rows of the columns, from row at on.
func (x *Index) newGroup(columns [4][]byte, at, n, width int) (*group, error) {
	g := &group{
		numbers:   slices.Clone(arrow.Uint32Traits.CastFromBytes(columns[0])[at : at+n]),
		centroids: quantize.TensorOf(x.Element, x.groups.means.Width, columns[3][at*width:(at+n)*width]),
	}
	from, count := arrow.Uint64Traits.CastFromBytes(columns[1])[at:at+n], arrow.Uint32Traits.CastFromBytes(columns[2])[at:at+n]
	for i, number := range g.numbers {
		if int64(number) >= int64(x.groups.partitions) || from[i] > uint64(x.groups.stored) || int64(from[i])+int64(count[i]) > x.groups.stored {
			return nil, fmt.Errorf("%w: partition %d of %d has %d rows from %d on, of %d", lance.ErrCorrupt, number, x.groups.partitions, count[i], from[i], x.groups.stored)
		}
		g.rows = append(g.rows, span{int64(from[i]), int64(count[i])})
	}
	return g, nil
}

// A search of groups reads the nearest ones until they have perProbe centroids for each partition that it may need to
// probe, and leastGroups at least.
const (
	perProbe    = 8
	leastGroups = 24
)

// rankGroups ranks the partitions of the nearest groups. Others are ranked when Rest needs them.
func (s *Search) rankGroups(ctx context.Context, metric vector.Metric, v *quantize.Vector) error {
	x := s.index
	distances := make([]float32, x.groups.means.Rows)
	if err := measure(metric, v, x.groups.means, distances); err != nil {
		return err
	}
	order, want, n, found := nearestOf(distances, 0), perProbe*probesNeeded(x.Metric, s.params, x.groups.partitions), 0, 0
	for n < len(order) && (n < leastGroups || found < want) {
		found += int(x.groups.rows[order[n]].count)
		n++
	}
	s.unread = order[n:]
	sorted, err := s.visit(ctx, metric, v, order[:n])
	if err != nil {
		return err
	}
	if len(s.unread) > 0 {
		s.readMore = func(ctx context.Context) error {
			unread := s.unread
			s.unread = nil
			_, err := s.visit(ctx, metric, v, unread)
			return err
		}
	}
	s.first = firstProbes(x.Metric, s.params, sorted)
	return nil
}

// probesNeeded returns how many partitions a search with some parameters probes first, at most.
func probesNeeded(metric vector.Metric, p Params, partitions int) int {
	if p.Effort != nil && *p.Effort > 0.5 {
		return partitions
	}
	needed := max(p.Minimum, mostSuggested(metric, p.K, partitions))
	if p.Maximum > 0 {
		needed = min(needed, p.Maximum)
	}
	return min(needed, partitions)
}

// visit appends the partitions of some groups to the order, nearest first, up to the maximum. It returns their
// distances.
func (s *Search) visit(ctx context.Context, metric vector.Metric, v *quantize.Vector, numbers []int) ([]float32, error) {
	read, err := s.index.load(ctx, numbers)
	if err != nil {
		return nil, err
	}
	var partitions []uint32
	var distances []float32
	for _, g := range read {
		partitions = append(partitions, g.numbers...)
		each := make([]float32, len(g.numbers))
		if err := measure(metric, v, g.centroids, each); err != nil {
			return nil, err
		}
		distances = append(distances, each...)
	}
	most := len(partitions)
	if s.params.Maximum > 0 {
		most = min(most, s.params.Maximum-len(s.order))
	}
	if most <= 0 {
		return nil, nil
	}
	sorted := make([]float32, 0, most)
	for _, i := range nearestOf(distances, most) {
		s.order, sorted = append(s.order, int(partitions[i])), append(sorted, distances[i])
	}
	return sorted, nil
}

// isOptional reports whether a segment whose groups could not be opened may be opened without them: if they are missing,
// damaged or of another segment, but not for lack of memory or time.
func isOptional(ctx context.Context, err error) bool { return ctx.Err() == nil && !memory.TooMuch(err) }
