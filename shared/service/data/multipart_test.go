package data_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/uuid"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/servicetest"
)

// An upload is a multipart write of the table t.
type upload struct {
	t       *testing.T
	service *data.Service
	id      string
}

func beginUpload(t *testing.T, service *data.Service) *upload {
	t.Helper()
	made, err := service.CreateMultipart(t.Context(), &dataapi.CreateMultipartWriteRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	return &upload{t, service, made.UploadID}
}

func (u *upload) part(id, rows string, mode dataapi.InsertMode) error {
	_, err := u.service.Insert(u.t.Context(), &dataapi.InsertRequest{
		Common: servicetest.Named("t"), Upload: servicetest.Upload(u.t, rows), Mode: mode, UploadID: u.id, UploadPartID: id,
	})
	return err
}

func (u *upload) request() *dataapi.EndMultipartWriteRequest {
	return &dataapi.EndMultipartWriteRequest{Common: servicetest.Named("t"), UploadID: u.id}
}

func (u *upload) complete() (int64, error) {
	done, err := u.service.CompleteMultipart(u.t.Context(), u.request())
	if err != nil {
		return 0, err
	}
	if done.TransactionID == "" {
		u.t.Error("a complete names no transaction")
	}
	return done.Version, nil
}

func (u *upload) abort() error {
	_, err := u.service.AbortMultipart(u.t.Context(), u.request())
	return err
}

func row(id int) string { return fmt.Sprintf(`[{"id":%d,"name":"new"}]`, id) }

func line(id int) string { return fmt.Sprintf("{\"id\":%d,\"name\":\"new\"}\n", id) }

func TestPartsBecomeOneVersion(t *testing.T) {
	for _, mode := range []dataapi.InsertMode{dataapi.InsertModeAppend, dataapi.InsertModeOverwrite} {
		house, service := open(t)
		house.Create(t, "t", twoRows)
		u := beginUpload(t, service)
		for i := range 3 {
			id := fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", i)
			for range 2 { // each is sent twice
				if err := u.part(id, row(10+i), mode); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := house.Rows(t, "t"); got != asLines {
			t.Errorf("before the upload is completed: got rows\n%s", got)
		}
		for range 2 {
			if version, err := u.complete(); err != nil || version != 2 {
				t.Errorf("got version %d, error %v; want 2", version, err)
			}
		}
		want := line(10) + line(11) + line(12)
		if mode == dataapi.InsertModeAppend {
			want = asLines + want
		}
		if got := house.Rows(t, "t"); got != want {
			t.Errorf("mode %v: got rows\n%swant\n%s", mode, got, want)
		}
		servicetest.WantCode(t, "abort of a committed upload", u.abort(), protocol.ConcurrentModification)
		servicetest.WantCode(t, "a part after the end", u.part(uuid.NewString(), row(1), mode), protocol.InvalidInput)
	}
}

func TestUploadWithoutPartsChangesNothing(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	if version, err := beginUpload(t, service).complete(); err != nil || version != 1 {
		t.Errorf("got version %d, error %v; want 1", version, err)
	}
}

func TestUploadThatIsAbortedIsOver(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	u := beginUpload(t, service)
	if err := u.part(uuid.NewString(), row(5), dataapi.InsertModeAppend); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := u.abort(); err != nil {
			t.Fatal(err)
		}
	}
	servicetest.WantCode(t, "a part", u.part(uuid.NewString(), row(6), dataapi.InsertModeAppend), protocol.InvalidInput)
	_, err := u.complete()
	servicetest.WantCode(t, "complete", err, protocol.InvalidInput)
	if got := house.Rows(t, "t"); got != asLines {
		t.Errorf("got rows\n%swant\n%s", got, asLines)
	}
}

func TestUploadsThatCannotBeAreRefused(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	house.Create(t, "other", twoRows)
	u := beginUpload(t, service)
	const id = "0a000000-0000-4000-8000-000000000001"
	if err := u.part(id, row(5), dataapi.InsertModeAppend); err != nil {
		t.Fatal(err)
	}
	insert := func(change func(*dataapi.InsertRequest)) error {
		req := &dataapi.InsertRequest{
			Common: servicetest.Named("t"), Upload: servicetest.Upload(t, row(6)), UploadID: u.id, UploadPartID: uuid.NewString(),
		}
		change(req)
		_, err := service.Insert(t.Context(), req)
		return err
	}
	servicetest.WantCode(t, "other rows under the id of a part", u.part(id, row(6), dataapi.InsertModeAppend), protocol.InvalidInput)
	servicetest.WantCode(t, "another mode under the id of a part", u.part(id, row(5), dataapi.InsertModeOverwrite), protocol.InvalidInput)
	for name, change := range map[string]func(*dataapi.InsertRequest){
		"an upload of another table": func(r *dataapi.InsertRequest) { r.ID = []string{"other"} },
		"no such upload":             func(r *dataapi.InsertRequest) { r.UploadID = strings.Repeat("0", 32) },
		"an upload with a path":      func(r *dataapi.InsertRequest) { r.UploadID = "../../" + u.id },
		"a part with a path":         func(r *dataapi.InsertRequest) { r.UploadPartID = "../" + id },
		"a part in braces":           func(r *dataapi.InsertRequest) { r.UploadPartID = "{" + id + "}" },
		"another branch":             func(r *dataapi.InsertRequest) { r.Branch = "b" },
	} {
		servicetest.WantCode(t, name, insert(change), protocol.InvalidInput)
	}
	servicetest.WantCode(t, "a stream without its end marker", insert(func(r *dataapi.InsertRequest) {
		whole, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = bytes.NewReader(whole[:len(whole)-8])
	}), protocol.InvalidInput)

	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "another"})
	_, err := service.CompleteMultipart(ctx, u.request())
	servicetest.WantCode(t, "complete by another sender", err, protocol.InvalidInput)
	_, err = service.CreateMultipart(t.Context(), &dataapi.CreateMultipartWriteRequest{Common: servicetest.Named("none")})
	servicetest.WantCode(t, "an upload of no table", err, protocol.TableNotFound)

	if err := insert(func(r *dataapi.InsertRequest) { r.Mode = dataapi.InsertModeOverwrite }); err != nil {
		t.Fatal(err)
	}
	_, err = u.complete()
	servicetest.WantCode(t, "parts of both modes", err, protocol.TableSchemaValidationError)
	if got := house.Rows(t, "t"); got != asLines {
		t.Errorf("got rows\n%swant\n%s", got, asLines)
	}
}

// Two clients add equal rows on purpose.
func TestEqualUploadsBothCount(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	one, two := beginUpload(t, service), beginUpload(t, service)
	for version, u := range map[int64]*upload{0: one, 1: two} {
		if err := u.part(uuid.NewString(), row(7), dataapi.InsertModeAppend); err != nil {
			t.Fatal(err, version)
		}
	}
	for want, u := range []*upload{one, two} {
		if version, err := u.complete(); err != nil || version != int64(want+2) {
			t.Errorf("got version %d, error %v; want %d", version, err, want+2)
		}
	}
	if got, want := house.Rows(t, "t"), asLines+line(7)+line(7); got != want {
		t.Errorf("got rows\n%swant\n%s", got, want)
	}
}

// A client that gave up a committed upload gets its version, once: rows that come a third time are
// rows of their own.
func TestUploadThatIsRetriedCountsOnce(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	for i, want := range []int64{2, 2, 3} {
		u := beginUpload(t, service)
		if err := u.part(uuid.NewString(), row(7), dataapi.InsertModeAppend); err != nil {
			t.Fatal(err)
		}
		if version, err := u.complete(); err != nil || version != want {
			t.Errorf("upload %d: got version %d, error %v; want %d", i, version, err, want)
		}
		if i == 0 {
			for range 2 {
				servicetest.WantCode(t, "abort", u.abort(), protocol.ConcurrentModification)
			}
		}
	}
	if got, want := house.Rows(t, "t"), asLines+line(7)+line(7); got != want {
		t.Errorf("got rows\n%swant\n%s", got, want)
	}
}
