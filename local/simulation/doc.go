// Package simulation tests that the service keeps its guarantees when everything around it
// fails. It contains tests only.
//
// A history is a few clients that send requests to a few function instances. The instances
// are real: the handler of all services, with their own caches, and below them, in one
// history of ten, the real clients of S3 and DynamoDB. In one of four histories the records
// lie in the bucket, too. The stores are simulated: a bucket and a table that answer the
// requests of the AWS clients in memory. Every request to them is parked until the
// scheduler releases it, one at a time, so a seed determines the order of events and the
// faults:
//
//   - an instance dies, at any request, before or after it was carried out
//   - an answer is lost after the write took place, or before
//   - a write is carried out long after everybody has given it up
//   - S3 answers 500, 503 or 409 ConditionalRequestConflict
//   - an instance freezes and goes on when its leases have run out
//   - clocks differ between instances, by less than a minute
//   - clients send a request again, or twice at once
//
// Time is that of a testing/synctest bubble and passes only when the scheduler advances it,
// and randomness is seeded (chance_test.go): the same seed gives the same history. The
// pauses between attempts are not seeded. They end, in any order, when nothing else can
// happen, which can change the order of the lines of one step, and very rarely more. The
// histories are divided among as many processes as there are processors.
//
// Each history is checked in two ways. First, the responses to clients must be linearizable
// against a small model of the operations (porcupine), in which a request without a
// response may have happened at any time or never. So acknowledged writes are there exactly
// once, other writes are whole or absent, one creator wins a name and one writer a version,
// and a batch makes all of its versions or none. Second, when the faults are over, a fresh
// instance must be able to do everything, without help from an operator.
//
// Work in jobs (workers_test.go) is checked in another way: a witness looks at each version of a table
// in the moment in which it becomes one. Indices find what a scan finds (indices_test.go), and views have
// the rows of their source at the version that they show (views_test.go). Uploads in parts are there once
// (uploads_test.go). Computed columns have what their expressions and functions give (fills_test.go), while the versions
// of the functions and the secret that they are given change (functions_test.go). In the end
// each job has told the truth: it has made its commit once, or none, and maintenance finds all files that
// no version needs.
//
// The models allow the outcomes that a store cannot exclude, with the reason: a put that no
// process waits for any more may be carried out late, where a name or a version was deleted
// (orphans that a sweep removes; versions that no client was told of), and the first batch
// that names a table may give way there to a writer that did not know of it.
//
// The checkers are tested, too: bugs_test.go plants bugs around the service, and planted_test.go in a copy
// of its source; each must be found.
//
//	go test ./local/simulation                  all of it
//	GODEBUG=asyncpreemptoff=1 go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seed 1234 -v
//	go test ./local/simulation -run TestRandomHistoriesAreLinearizable -seeds 100000
//	go test ./local/simulation -run 'TestIndices|TestViews|TestUploads|TestColumns' -seeds 2000
package simulation
