// Command client does what a program with the ADBC driver for Flight SQL does, and prints what it gets.
//
//	go run . ADDRESS TOKEN NAMESPACE
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address, token, space string) error {
	db, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{
		adbc.OptionKeyURI:                   "grpc://" + address,
		flightsql.OptionAuthorizationHeader: "Bearer " + token,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	connection, err := db.Open(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	schema, err := connection.GetTableSchema(ctx, nil, &space, "docs")
	if err != nil {
		return err
	}
	for _, f := range schema.Fields() {
		fmt.Println(f.Name, f.Type)
	}
	if err := query(ctx, connection, "SELECT id, word FROM "+space+".docs ORDER BY id", nil); err != nil {
		return err
	}
	parameters := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "1", Type: arrow.BinaryTypes.String}, {Name: "2", Type: arrow.PrimitiveTypes.Int64},
	}, nil))
	parameters.Field(0).(*array.StringBuilder).Append("bee")
	parameters.Field(1).(*array.Int64Builder).Append(1)
	if err := query(ctx, connection, "SELECT id FROM "+space+".docs WHERE word <> ? AND id > ?", parameters.NewRecordBatch()); err != nil {
		return err
	}
	if err := query(ctx, connection, "SELECT nothing FROM "+space+".docs", nil); err == nil {
		return fmt.Errorf("a column that does not exist is no error")
	}
	return nil
}

// query runs a statement and prints its rows.
func query(ctx context.Context, connection adbc.Connection, text string, parameters arrow.RecordBatch) error {
	statement, err := connection.NewStatement()
	if err != nil {
		return err
	}
	defer statement.Close()
	if err := statement.SetSqlQuery(text); err != nil {
		return err
	}
	if parameters != nil {
		if err := statement.Prepare(ctx); err != nil {
			return err
		}
		if err := statement.Bind(ctx, parameters); err != nil {
			return err
		}
	}
	rows, _, err := statement.ExecuteQuery(ctx)
	if err != nil {
		return err
	}
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		for i := range int(batch.NumRows()) {
			for _, column := range batch.Columns() {
				fmt.Print(column.ValueStr(i), " ")
			}
			fmt.Println()
		}
	}
	return rows.Err()
}
