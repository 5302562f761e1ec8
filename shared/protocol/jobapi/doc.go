// Package jobapi contains the wire types of jobs: their states and progress, and the operations that list, describe,
// cancel, pause and resume them. Begin with job.go.
package jobapi
