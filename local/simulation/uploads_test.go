package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/engine"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
)

// uploads are multipart writes to one table, as LanceDB's client sends them: parts side by side, then a
// complete, and when that has no good answer an abort, and all rows again as another upload, divided in
// another way. The witness finds in each version all rows of an addition once, or none, and in the end
// those of each addition whose client saw that it succeeded.
var uploads = domain{
	name: "uploads", setup: setupUploads, draw: drawUploads, finale: finishUploads, works: true,
	look: func(o *witness) func(context.Context, *engine.Table, *dataset.Dataset) string { return o.lookAtUploads },
}

const loadedTable = "/v1/table/loaded/"

// addedRows is how many rows an addition has. Their ids are ten times its number, and what follows.
const addedRows = 4

func setupUploads(c *client) {
	// A client that comes again much later finds that nobody knows any more what it has sent before.
	c.world.odds.leap = min(c.world.odds.leap, 2)
	c.do(anything("uploads", "create a table", request{path: loadedTable + "create", body: stream(map[int]int{1: 1})}))
}

func drawUploads(c *client) *op {
	if c.rng.IntN(4) > 0 {
		c.add()
	}
	return anything("uploads", "insert a row", request{path: loadedTable + "insert", body: stream(map[int]int{10*c.value() + 9: 0})})
}

// add adds rows, and reports whether it has succeeded.
func (c *client) add() bool {
	number := c.value()
	for try := range 3 {
		var upload struct {
			ID string `json:"upload_id"`
		}
		if o := c.do(anything("uploads", "begin an upload", request{path: loadedTable + "multipart_write/create"})); o.ok() {
			o.decode(&upload)
		}
		if upload.ID == "" {
			continue
		}
		end := func(what string) outcome {
			path := loadedTable + "multipart_write/" + what + "?upload_id=" + upload.ID
			return c.do(anything("uploads", fmt.Sprintf("%s the upload of %d", what, number), request{path: path}, invalid, conflicting))
		}
		whole := c.sendParts(upload.ID, number, 1+(number+try)%(addedRows-1))
		if whole {
			for range 2 {
				if end("complete").ok() {
					c.world.witness.acknowledged(number)
					return true
				}
			}
		}
		answered := false
		for range 2 {
			answered = answered || !end("abort").unknown
		}
		if whole && !answered {
			// The rows may be there, and the server knows of no retry: sent again, they could be there twice.
			return false
		}
	}
	return false
}

// sendParts sends the rows of an addition in two parts, side by side.
func (c *client) sendParts(upload string, number, cut int) bool {
	var wait sync.WaitGroup
	sent := [2]bool{}
	for part, ids := range [2][2]int{{0, cut}, {cut, addedRows}} {
		body := encode(batchesOf(number)[ids[0]:ids[1]]...)
		id := fmt.Sprintf("00000000-0000-4000-8000-%04d%04d%03d", c.number, c.sent, part)
		sender := c.newClient(10*c.number+part, c.world.seed+uint64(c.sent))
		sender.sent = c.sent // so that its keys are not those of parts before
		cut := ids[1]-ids[0] > 1 && c.rng.IntN(6) == 0
		wait.Go(func() {
			path := fmt.Sprintf("%sinsert/?upload_id=%s&upload_part_id=%s", loadedTable, upload, id)
			send := func(text, path string, body []byte) bool {
				text = fmt.Sprintf("%spart %d of %d", text, part, number)
				return sender.do(anything("uploads", text, request{path: path, body: body}, invalid, conflicting)).ok()
			}
			// The connection is cut after the first batch. That is no part, unless the server takes it for one.
			first := encode(batchesOf(number)[ids[0]])
			if cut && send("the beginning of ", path+"c", first[:len(first)-endBytes]) {
				sent[part] = true
				return
			}
			sent[part] = send("", path+"0", body)
		})
	}
	wait.Wait()
	return sent[0] && sent[1]
}

// endBytes is the length of the marker at the end of a stream.
const endBytes = 8

// batchesOf returns the rows of an addition, each in a batch of its own.
func batchesOf(number int) []arrow.RecordBatch {
	batches := make([]arrow.RecordBatch, addedRows)
	for i := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, rowSchema)
		b.Field(0).(*array.Int64Builder).Append(int64(10*number + i))
		b.Field(1).(*array.Int64Builder).Append(int64(number))
		batches[i] = b.NewRecordBatch()
	}
	return batches
}

func finishUploads(c *client) {
	if !c.add() {
		c.world.witness.saw("in the end, with nobody else about, an upload has failed")
	}
	o := c.world.witness
	place := c.placeOf("loaded")
	err := engine.Do(background, o.at(place), nil, func(ctx context.Context, d *dataset.Dataset) error {
		added, err := additions(ctx, d)
		for _, number := range o.added {
			if added[number] != addedRows {
				o.saw("%d rows are there of addition %d, which has succeeded", added[number], number)
			}
		}
		o.counts["additions"] += len(added)
		return err
	})
	if err != nil {
		o.saw("in the end: %v", err)
	}
}

// acknowledged is told of an addition whose client saw that it succeeded.
func (o *witness) acknowledged(number int) {
	o.world.mu.Lock()
	defer o.world.mu.Unlock()
	o.added = append(o.added, number)
	o.counts["acknowledged"]++
}

func (o *witness) lookAtUploads(ctx context.Context, _ *engine.Table, d *dataset.Dataset) string {
	added, err := additions(ctx, d)
	if err != nil {
		return err.Error()
	}
	for number, rows := range added {
		if rows != addedRows {
			return fmt.Sprintf("%d rows are there of addition %d", rows, number)
		}
	}
	return ""
}

// additions counts the rows of each addition.
func additions(ctx context.Context, d *dataset.Dataset) (map[int]int, error) {
	_, batches, err := d.Scan(ctx, snapshot.ScanOptions{Columns: []string{"id"}})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		ids = append(ids, batch.Column(0).(*array.Int64).Int64Values()...)
	}
	slices.Sort(ids)
	added := map[int]int{}
	for i, id := range ids {
		if i > 0 && ids[i-1] == id {
			added[int(id/10)] += addedRows // it is there more than once
		}
		if id >= 10 && id%10 < addedRows {
			added[int(id/10)]++
		}
	}
	return added, nil
}

func TestUploadsAreThereOnce(t *testing.T) { playDomain(t, uploads, 100, "acknowledged", "additions") }
