package operation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/pb"
)

func TestManifestsNameTheRelease(t *testing.T) {
	for version, want := range map[string]struct {
		writer pb.WriterVersion
		number string
	}{
		"v1.2.3":            {pb.WriterVersion{Library: "tiltyard", Version: "1.2.3"}, "1.2.3"},
		"v1.2.3-rc.1+dirty": {pb.WriterVersion{Library: "tiltyard", Version: "1.2.3", Prerelease: "rc.1", BuildMetadata: "dirty"}, "1.2.3-rc.1+dirty"},
		"v0.0.0-2026-abc":   {pb.WriterVersion{Library: "tiltyard", Version: "0.0.0", Prerelease: "2026-abc"}, "0.0.0-2026-abc"},
		"(devel)":           {pb.WriterVersion{Library: "tiltyard", Version: "0.0.0"}, "0.0.0"},
	} {
		got := writerOf(version)
		if diff := cmp.Diff(want.writer, got); diff != "" || got.Number() != want.number {
			t.Errorf("%s: number %s, want %s (-want +got):\n%s", version, got.Number(), want.number, diff)
		}
	}
}
