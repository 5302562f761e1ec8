package handover

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestSocketsAreTakenFromWhoeverGivesOne(t *testing.T) {
	ours, other := strconv.Itoa(os.Getpid()), strconv.Itoa(os.Getppid())
	cases := []struct {
		name, count, pid, want string
	}{
		{"none is given", "", "", ""},
		{"for another process", "1", other, ""},
		{"several", "2", ours, `LISTEN_FDS is "2"`},
		{"none of a number", "one", "", `LISTEN_FDS is "one"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(socketsVariable, c.count)
			t.Setenv(forVariable, c.pid)
			listener, err := inherited()
			if listener != nil {
				t.Errorf("got a listener at %s", listener.Addr())
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}
