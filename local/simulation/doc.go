// Package simulation tests that the service keeps its guarantees when everything around it fails. It contains tests only.
//
// A history is a run of a few clients that send requests to a few function instances. The instances are real: the handler
// of all services, with their own caches, and below them, in one history of ten, the real clients of S3 and DynamoDB. In
// one of four histories the records are in the bucket, too. The stores are simulated: a bucket and a table that answer the
// requests of the AWS clients in memory. Every request to them is parked until the scheduler releases it, one at a time,
// so a seed determines the order of events and the faults:
//
//   - an instance dies, at any request, before or after it was performed
//   - an answer is lost, after the write was performed or before
//   - a write is performed long after its sender has given up
//   - S3 answers 500, 503 or 409 ConditionalRequestConflict
//   - an instance freezes and continues after its leases have expired
//   - clocks differ between instances, by less than a minute
//   - clients send a request again, or twice at once
//   - messages of the queue are lost, come twice at once, or come again after their work was done
//   - parts of queries, which are calls of other instances (calls_test.go), are lost, late, sent twice or run twice; find
//     no free instance, or one of another release; or come after their caller has lost its right
//
// Time is the time of a testing/synctest bubble and passes only when the scheduler advances it, and randomness is seeded
// (chance_test.go): the same seed gives the same history. The pauses between attempts are not seeded. They end, in any
// order, when nothing else can happen, which can change the order of the lines of one step, and very rarely more. The
// histories are divided among as many processes as there are processors.
//
// Each history is checked in two ways. First, the responses to clients must be linearizable against a small model of the
// operations (porcupine), in which a request without a response may have happened at any time or never. So acknowledged
// writes exist exactly once, other writes exist completely or not at all, one creator wins a name and one writer a
// version, and a batch makes all of its versions or none. Second, when the faults are over, a fresh instance must be able
// to do everything, without help from an operator.
//
// Work in jobs (workers_test.go) is checked in another way: a witness checks each version of a table at the moment at
// which it is made. Indices find the same rows as a scan (indices_test.go), and views have the rows of their source at
// the version from which they were computed (views_test.go). Uploads in parts exist once (uploads_test.go). Computed
// columns have the values of their expressions and functions (fills_test.go), while the functions and their secrets
// change (functions_test.go). Queries in parts read one version, the newest at some time while they ran, and never for
// a caller who may not read when the part begins (divided_test.go). In the end the result of each job is true: the job
// has made its commit once, or none, and maintenance finds all files that no version needs.
//
// The models permit outcomes that a store cannot exclude, with the reason: a put that no process waits for any more may be
// performed late, where a name or a version was deleted (orphans that a sweep removes; versions that no client received),
// and the first batch that names a table may give way there to a concurrent writer.
//
// The checkers are tested, too: bugs_test.go plants bugs around the service, and planted_test.go in a copy of its source;
// each must be found.
//
//	go test ./local/simulation                  all of it
//	GODEBUG=asyncpreemptoff=1 go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seed 1234 -v
//	go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seeds 100000
//	go test ./local/simulation -run 'TestIndices|TestViews|TestUploads|TestColumns|TestQueries' -seeds 2000
package simulation
