package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Where there is no terminal nothing is shown; what is printed comes in its order.
func TestProgressWithoutATerminal(t *testing.T) {
	var out, said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	p := NewProgress(cmd, "looking")
	p.Tell(1, 2, "tables")
	for _, line := range []string{"a", "b"} {
		p.Print(func() { out.WriteString(line) })
	}
	if p.text != cellsOf(1, 2)+"1 of 2 tables" {
		t.Errorf("the text is %q", p.text)
	}
	p.Tell(7, 0, "secrets")
	if !strings.HasPrefix(p.text, "7 secrets") {
		t.Errorf("the text is %q", p.text)
	}
	p.End()
	if out.String() != "ab" || said.Len() > 0 {
		t.Errorf("got %q and %q", out.String(), said.String())
	}
}
