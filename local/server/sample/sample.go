// Package sample makes a sample to look at: a table of invented films with summaries, posters and embeddings, its indices,
// some versions, and a view. The program computes all of it, without a network. [Load] makes it by requests of a client,
// so that the rights of the client apply. Begin there.
package sample

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
)

// Table is the id of the table of the sample, and View that of its view.
var (
	Table = []string{"sample", "films"}
	View  = []string{"sample", "recent_favourites"}
)

// viewQuery is the definition of the view.
const viewQuery = `SELECT id, title, year, genre, rating FROM "sample"."films" WHERE year >= 2000 AND rating > 7`

// Load makes the sample. The error is TableAlreadyExists if its table exists. If a later step fails, Load drops the table.
func Load(ctx context.Context, c *client.Client) error {
	create := &namespaceapi.CreateRequest{Common: client.ID(Table[0]), Mode: protocol.CreateModeExistOk}
	if _, err := c.CreateNamespace(ctx, create); err != nil {
		return err
	}
	rows, err := films()
	if err != nil {
		return err
	}
	defer rows.Release()
	table := client.ID(Table...)
	if _, err = c.CreateTable(ctx, &dataapi.CreateTableRequest{Common: table}, client.Batches(schema, rows)); err != nil {
		if protocol.HasCode(err, protocol.TableAlreadyExists) {
			return &protocol.Error{
				Code: protocol.TableAlreadyExists, Message: "the sample exists already: the table films in the namespace sample",
				Detail: "drop the table to make the sample again", Err: err,
			}
		}
		return err
	}
	err = change(ctx, c, table)
	if err == nil {
		err = derive(ctx, c, table)
	}
	if err != nil {
		_, _ = c.DropTable(context.WithoutCancel(ctx), &tableapi.DropRequest{Common: table}) // the error of the step says more
	}
	return err
}

// change makes two more versions of the table.
func change(ctx context.Context, c *client.Client, table protocol.Common) error {
	_, err := c.UpdateTable(ctx, &dataapi.UpdateRequest{
		Common: table, Predicate: "genre = 'documentary' AND rating < 6", Updates: [][]string{{"rating", "rating + 0.5"}},
	})
	if err != nil {
		return err
	}
	_, err = c.AlterTableAddColumns(ctx, &schemaapi.AddColumnsRequest{
		Common: table, NewColumns: []schemaapi.NewColumn{{Name: "decade", Expression: "year - year % 10"}},
	})
	return err
}

// derive makes the indices and the view, and waits for them.
func derive(ctx context.Context, c *client.Client, table protocol.Common) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, index := range []indexapi.CreateRequest{
		{Column: "vector", Type: "IVF_HNSW_SQ", VectorParameters: indexapi.VectorParameters{DistanceType: protocol.DistanceCosine, NumPartitions: new(int64(1))}},
		{Column: "summary", Type: "FTS"},
		{Column: "year", Type: "BTREE"},
		{Column: "genre", Type: "BITMAP"},
	} {
		index.Common = table
		g.Go(func() error {
			begun, err := c.CreateTableIndex(ctx, &index)
			if err != nil {
				return err
			}
			return wait(ctx, c, begun.JobID)
		})
	}
	g.Go(func() error {
		made, err := c.CreateMaterializedView(ctx, &viewapi.CreateMaterializedRequest{Common: client.ID(View...), Query: viewQuery})
		if err != nil {
			return err
		}
		return wait(ctx, c, made.JobID)
	})
	return g.Wait()
}

// wait waits for a job, if there is one.
func wait(ctx context.Context, c *client.Client, job string) error {
	if job == "" {
		return nil
	}
	_, err := c.Wait(ctx, job, nil)
	return err
}
