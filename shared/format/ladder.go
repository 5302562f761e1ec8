package format

// The ladder of formats, lowest first. A release that gives a member of a stored object a new meaning adds a
// step with a comment that names the objects, the member, and the release, and makes [Known] that step.
const (
	First = 1 + iota // all objects of all releases so far

	Known = iota // the highest format that this release understands
)
