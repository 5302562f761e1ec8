package data_test

import (
	"strings"
	"testing"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/servicetest"
)

const (
	twoRows = `[{"id":1,"name":"a"},{"id":2,"name":"b"}]`
	asLines = "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n"
)

func open(t *testing.T) (*servicetest.House, *data.Service) {
	house := servicetest.Open(t)
	return house, data.New(house.Tables, arrowipc.Limits{})
}

func TestCreateDoesWithAnExistingTableWhatItsModeSays(t *testing.T) {
	cases := []struct {
		name    string
		mode    protocol.CreateMode
		code    protocol.Code // of the error, if there is one
		refused bool
		version int64
		rows    string
	}{
		{"create", protocol.CreateModeCreate, protocol.TableAlreadyExists, true, 0, asLines},
		{"exist_ok", protocol.CreateModeExistOk, 0, false, 1, asLines},
		{"overwrite", protocol.CreateModeOverwrite, 0, false, 2, "{\"id\":9,\"name\":\"new\"}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			house, service := open(t)
			house.Create(t, "t", twoRows)
			made, err := service.Create(t.Context(), &dataapi.CreateTableRequest{
				Common: servicetest.Named("t"), Upload: servicetest.Upload(t, `[{"id":9,"name":"new"}]`), Mode: c.mode,
			})
			switch {
			case c.refused:
				servicetest.WantCode(t, "create", err, c.code)
			case err != nil:
				t.Fatal(err)
			case made.Version != c.version:
				t.Errorf("got version %d, want %d", made.Version, c.version)
			}
			if got := house.Rows(t, "t"); got != c.rows {
				t.Errorf("got rows\n%swant\n%s", got, c.rows)
			}
		})
	}
}

// The rows of a create are written before the name is given to them.
func TestCreateThatIsRefusedLeavesNoFiles(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	before := len(house.Files(t))
	_, err := service.Create(t.Context(), &dataapi.CreateTableRequest{
		Common: servicetest.Named("t"), Upload: servicetest.Upload(t, twoRows),
	})
	servicetest.WantCode(t, "create", err, protocol.TableAlreadyExists)
	if after := house.Files(t); before != 1 || len(after) != before {
		t.Errorf("got files %v, want the one of before", after)
	}
}

func TestInsertAppendsOrReplaces(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	for _, step := range []struct {
		mode    dataapi.InsertMode
		version int64
		rows    string
	}{
		{dataapi.InsertModeAppend, 2, asLines + "{\"id\":3,\"name\":null}\n"},
		{dataapi.InsertModeOverwrite, 3, "{\"id\":3,\"name\":null}\n"},
	} {
		done, err := service.Insert(t.Context(), &dataapi.InsertRequest{
			Common: servicetest.Named("t"), Upload: servicetest.Upload(t, `[{"id":3,"name":null}]`), Mode: step.mode,
		})
		if err != nil {
			t.Fatal(err)
		}
		if done.Version != step.version || done.NumInsertedRows != 1 || done.TransactionID == "" {
			t.Errorf("got %+v, want one row in version %d and a transaction", done, step.version)
		}
		if got := house.Rows(t, "t"); got != step.rows {
			t.Errorf("got rows\n%swant\n%s", got, step.rows)
		}
	}
}

func TestMergeUpdatesInsertsAndDeletesByKey(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"},{"id":2,"name":"b"},{"id":3,"name":"c"}]`)
	done, err := service.Merge(t.Context(), &dataapi.MergeInsertRequest{
		Common: servicetest.Named("t"), Upload: servicetest.Upload(t, `[{"id":2,"name":"B"},{"id":4,"name":"D"}]`),
		On: []string{"id"}, WhenMatchedUpdateAll: true, WhenNotMatchedInsertAll: true,
		WhenNotMatchedBySourceDeleteFilter: "id = 3",
	})
	if err != nil {
		t.Fatal(err)
	}
	if done.NumUpdatedRows != 1 || done.NumInsertedRows != 1 || done.NumDeletedRows != 1 || done.Version != 2 {
		t.Errorf("got %+v, want one row each in version 2", done)
	}
	if done.NumRows != 2 || done.NumAttempts != 1 {
		t.Errorf("got %+v, want two written rows at the first attempt", done)
	}
	got := house.Rows(t, "t")
	for _, want := range []string{`{"id":1,"name":"a"}`, `{"id":2,"name":"B"}`, `{"id":4,"name":"D"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("row %s is missing in\n%s", want, got)
		}
	}
	if strings.Count(got, "\n") != 3 {
		t.Errorf("got rows\n%swant three", got)
	}
}

func TestUpdateAndDeleteCountTheirRows(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	updated, err := service.Update(t.Context(), &dataapi.UpdateRequest{
		Common: servicetest.Named("t"), Updates: [][]string{{"name", "concat(name, '!')"}, {"id", "id * 10"}}, Predicate: "id = 2",
	})
	if err != nil {
		t.Fatal(err)
	}
	if updated.UpdatedRows != 1 || updated.Version != 2 {
		t.Errorf("got %+v, want one row in version 2", updated)
	}
	deleted, err := service.Delete(t.Context(), &dataapi.DeleteRequest{Common: servicetest.Named("t"), Predicate: "id < 10"})
	if err != nil {
		t.Fatal(err)
	}
	if deleted.NumDeletedRows != 1 || deleted.Version != 3 {
		t.Errorf("got %+v, want one row in version 3", deleted)
	}
	if got, want := house.Rows(t, "t"), "{\"id\":20,\"name\":\"b!\"}\n"; got != want {
		t.Errorf("got rows\n%swant\n%s", got, want)
	}
}

func TestWriteThatIsRefusedChangesNothing(t *testing.T) {
	noStream := protocol.Upload{Body: strings.NewReader("no Arrow stream")}
	cases := []struct {
		name string
		code protocol.Code
		do   func(t *testing.T, s *data.Service) error
	}{
		{"insert of what is no stream", protocol.InvalidInput, func(t *testing.T, s *data.Service) error {
			_, err := s.Insert(t.Context(), &dataapi.InsertRequest{Common: servicetest.Named("t"), Upload: noStream})
			return err
		}},
		{"insert into no table", protocol.TableNotFound, func(t *testing.T, s *data.Service) error {
			_, err := s.Insert(t.Context(), &dataapi.InsertRequest{Common: servicetest.Named("no"), Upload: servicetest.Upload(t, twoRows)})
			return err
		}},
		{"create without a name", protocol.InvalidInput, func(t *testing.T, s *data.Service) error {
			_, err := s.Create(t.Context(), &dataapi.CreateTableRequest{Upload: servicetest.Upload(t, twoRows)})
			return err
		}},
		{"delete by half a predicate", protocol.InvalidInput, func(t *testing.T, s *data.Service) error {
			_, err := s.Delete(t.Context(), &dataapi.DeleteRequest{Common: servicetest.Named("t"), Predicate: "id >"})
			return err
		}},
		{"delete on no branch", protocol.TableBranchNotFound, func(t *testing.T, s *data.Service) error {
			_, err := s.Delete(t.Context(), &dataapi.DeleteRequest{Common: servicetest.Named("t"), Predicate: "true", Branch: "no"})
			return err
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			house, service := open(t)
			house.Create(t, "t", twoRows)
			servicetest.WantCode(t, c.name, c.do(t, service), c.code)
			if got := house.Rows(t, "t"); got != asLines {
				t.Errorf("got rows\n%swant\n%s", got, asLines)
			}
			if files := house.Files(t); len(files) != 1 {
				t.Errorf("got files %v, want only that of the first version", files)
			}
		})
	}
}
