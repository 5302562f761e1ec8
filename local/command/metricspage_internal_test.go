package command

import "testing"

// A page of metrics becomes operations with times in the range of their buckets, or an error.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("# TYPE a counter\na 1\nb{c=\"d\\\"\",e=\"\"} 2\n"))
	f.Add([]byte("tiltyard_request_duration_seconds_bucket{operation=\"Q\",le=\"0.5\"} 1\ntiltyard_request_duration_seconds_bucket{operation=\"Q\",le=\"+Inf\"} 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := parseMetrics(text)
		if err != nil {
			return
		}
		for name, operation := range page.operations {
			if operation.count() > 0 && len(operation.buckets) == 0 {
				t.Errorf("%s has requests without times", name)
			}
			_ = operation.quantile(operationMetrics{}, 0.5)
		}
	})
}
