package format

// The ladder of formats, lowest first. A release that gives a member of a stored object a new meaning adds
// a step, sets [Known] to it, and names the objects, the member and the release in its comment.
const (
	First = 1 + iota // all objects of all releases so far

	Known = iota // the highest format that this release understands
)
