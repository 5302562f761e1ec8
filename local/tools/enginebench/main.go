// Command enginebench runs the Lance engine for the benchmark, without HTTP. It reads requests from
// standard input, one line of JSON each, and answers each with the time of the work. See
// local/e2e/bench/bench_engine.py, which runs the same requests with native Lance.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

func main() {
	// Little memory stays in use between two requests, so the collector would run every few batches.
	// The server uses a heap floor for the same reason.
	debug.SetGCPercent(200)
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "enginebench:", err)
		os.Exit(1)
	}
}

// serve answers requests until the input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(out)
	sources := map[string]source{}
	for lines.Scan() {
		var req request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return fmt.Errorf("request %q: %w", lines.Text(), err)
		}
		done, err := req.run(ctx, sources)
		if err != nil {
			return fmt.Errorf("%s %s: %w", req.Do, req.Path, err)
		}
		if err := answers.Encode(done); err != nil {
			return err
		}
	}
	return lines.Err()
}
