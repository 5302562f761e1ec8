package all_test

import (
	"reflect"
	"testing"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
)

// withoutMethod lists the operations that the Go client does not call, and why.
var withoutMethod = map[string]string{
	"SetLsmWriteSpec":   "tables have no write-ahead log",
	"UnsetLsmWriteSpec": "tables have no write-ahead log",
	"GetLsmWriteSpec":   "tables have no write-ahead log",
	"FlushLsm":          "tables have no write-ahead log",
	"CompactLsm":        "tables have no write-ahead log",
	"GetLsmStats":       "tables have no write-ahead log",
	"EnableRte":         "another name of SetLsmWriteSpec",
	"DisableRte":        "another name of UnsetLsmWriteSpec",
	"GetRteSpec":        "another name of GetLsmWriteSpec",
	"FlushRte":          "another name of FlushLsm",
	"CompactRte":        "another name of CompactLsm",
	"GetRteStats":       "another name of GetLsmStats",
	"RefreshTable":      "another name of RefreshMaterializedView",
}

func TestTheGoClientHasEachOperation(t *testing.T) {
	methods := reflect.TypeFor[*client.Client]()
	for _, op := range protocol.Operations {
		_, has := methods.MethodByName(op.Name)
		if reason, listed := withoutMethod[op.Name]; listed && has {
			t.Errorf("%s has a method and is listed as %q", op.Name, reason)
		} else if !listed && !has {
			t.Errorf("%s has no method of client.Client; add it, or its reason here", op.Name)
		}
	}
	for name := range withoutMethod {
		if _, known := protocol.Lookup(name); !known {
			t.Errorf("no operation is called %s", name)
		}
	}
}
