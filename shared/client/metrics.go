package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"tiltyard/shared/protocol"
)

// maxMetricsBytes bounds a page of metrics.
const maxMetricsBytes = 16 << 20

// Metrics returns the metrics of the server in the text format of Prometheus. A server without metrics, such as a deployment
// in Lambda, answers with an [Error].
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	page := &call{
		client: c, url: c.base.JoinPath("metrics").String(), header: http.Header{"User-Agent": {userAgent}},
		operation: protocol.Operation{Name: "metrics", Methods: []string{http.MethodGet}, Access: protocol.Read},
	}
	var text []byte
	err := page.send(ctx, func(answer *http.Response) (err error) {
		defer answer.Body.Close()
		if text, err = io.ReadAll(io.LimitReader(answer.Body, maxMetricsBytes+1)); err == nil && len(text) > maxMetricsBytes {
			err = fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, maxMetricsBytes)
		}
		return err
	})
	return text, err
}
