// Command figures prints measures of the source tree, one figure per line, with their targets:
//
//	go run ./local/tools/figures
//
// The figures are informative: compare them before and after a large change. Generated code and
// testdata do not count.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"
)

func main() {
	if err := run(os.DirFS("."), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run measures the tree at the root of files and prints its figures.
func run(files fs.FS, out io.Writer) error {
	t, err := measure(files)
	if err != nil {
		return err
	}
	readme, err := fs.ReadFile(files, "README.md")
	if err != nil {
		return err
	}
	columns := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(columns, "figure\tnow\ttarget\t\twhere")
	for _, f := range t.figures(readme) {
		met := "met"
		if !f.met {
			met = "not met"
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", f.name, f.now, f.target, met, f.where)
	}
	return columns.Flush()
}
