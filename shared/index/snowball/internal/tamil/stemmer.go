// Code generated from algorithms/tamil.sbl by the Snowball compiler; DO NOT EDIT.

// Package tamil finds the stems of words; see the package snowball.
package tamil

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "\u0BB5\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BB5\u0BC2", A: -1, B: 4, F: nil},
	{Str: "\u0BB5\u0BCA", A: -1, B: 2, F: nil},
	{Str: "\u0BB5\u0BCB", A: -1, B: 1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B99", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9E", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BA8", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BAE", A: -1, B: -1, F: nil},
	{Str: "\u0BAF", A: -1, B: -1, F: nil},
	{Str: "\u0BB5", A: -1, B: -1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 2, F: nil},
	{Str: "\u0BC8", A: 0, B: 1, F: nil},
	{Str: "\u0BCD", A: 0, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "\u0BA9\u0BC1", A: -1, B: 8, F: nil},
	{Str: "\u0BC1\u0B95\u0BCD", A: -1, B: 7, F: nil},
	{Str: "\u0BC1\u0B95\u0BCD\u0B95\u0BCD", A: -1, B: 7, F: nil},
	{Str: "\u0B9F\u0BCD\u0B95\u0BCD", A: -1, B: 3, F: nil},
	{Str: "\u0BB1\u0BCD\u0B95\u0BCD", A: -1, B: 4, F: nil},
	{Str: "\u0B99\u0BCD", A: -1, B: 9, F: nil},
	{Str: "\u0B9F\u0BCD\u0B9F\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA4\u0BCD\u0BA4\u0BCD", A: -1, B: 6, F: nil},
	{Str: "\u0BA8\u0BCD\u0BA4\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BA8\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0B9F\u0BCD\u0BAA\u0BCD", A: -1, B: 3, F: nil},
	{Str: "\u0BAF\u0BCD", A: -1, B: 2, F: nil},
	{Str: "\u0BA9\u0BCD\u0BB1\u0BCD", A: -1, B: 4, F: nil},
	{Str: "\u0BB5\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BA8\u0BCD\u0BA4", A: -1, B: 1, F: nil},
	{Str: "\u0BAF", A: -1, B: 1, F: nil},
	{Str: "\u0BB5", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9F", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BB1", A: -1, B: -1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9F", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BB1", A: -1, B: -1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "\u0B9E", A: -1, B: -1, F: nil},
	{Str: "\u0BA3", A: -1, B: -1, F: nil},
	{Str: "\u0BA8", A: -1, B: -1, F: nil},
	{Str: "\u0BA9", A: -1, B: -1, F: nil},
	{Str: "\u0BAE", A: -1, B: -1, F: nil},
	{Str: "\u0BAF", A: -1, B: -1, F: nil},
	{Str: "\u0BB0", A: -1, B: -1, F: nil},
	{Str: "\u0BB2", A: -1, B: -1, F: nil},
	{Str: "\u0BB3", A: -1, B: -1, F: nil},
	{Str: "\u0BB4", A: -1, B: -1, F: nil},
	{Str: "\u0BB5", A: -1, B: -1, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BCD", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "\u0B85", A: -1, B: -1, F: nil},
	{Str: "\u0B87", A: -1, B: -1, F: nil},
	{Str: "\u0B89", A: -1, B: -1, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B99", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9E", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BA8", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BAE", A: -1, B: -1, F: nil},
	{Str: "\u0BAF", A: -1, B: -1, F: nil},
	{Str: "\u0BB5", A: -1, B: -1, F: nil},
}

var A_12 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9F", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BB1", A: -1, B: -1, F: nil},
}

var A_13 = []*snowballRuntime.Among{
	{Str: "\u0B95\u0BB3\u0BCD", A: -1, B: 4, F: nil},
	{Str: "\u0BC1\u0B99\u0BCD\u0B95\u0BB3\u0BCD", A: 0, B: 1, F: nil},
	{Str: "\u0B9F\u0BCD\u0B95\u0BB3\u0BCD", A: 0, B: 3, F: nil},
	{Str: "\u0BB1\u0BCD\u0B95\u0BB3\u0BCD", A: 0, B: 2, F: nil},
}

var A_14 = []*snowballRuntime.Among{
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BCB", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
}

var A_15 = []*snowballRuntime.Among{
	{Str: "\u0BAA\u0BBF", A: -1, B: -1, F: nil},
	{Str: "\u0BB5\u0BBF", A: -1, B: -1, F: nil},
}

var A_16 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_17 = []*snowballRuntime.Among{
	{Str: "\u0BAA\u0B9F\u0BCD\u0B9F\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BB5\u0BBF\u0B9F\u0BCD\u0B9F\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BAA\u0B9F\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BB5\u0BBF\u0B9F\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BAA\u0B9F\u0BCD\u0B9F\u0BA4\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BC6\u0BA9\u0BCD\u0BB1\u0BC1", A: -1, B: 1, F: nil},
	{Str: "\u0BC1\u0B9F\u0BC8", A: -1, B: 1, F: nil},
	{Str: "\u0BBF\u0BB2\u0BCD\u0BB2\u0BC8", A: -1, B: 1, F: nil},
	{Str: "\u0BC1\u0B9F\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BC6\u0BA9\u0BC1\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBF\u0B9F\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BC6\u0BB2\u0BCD\u0BB2\u0BBE\u0BAE\u0BCD", A: -1, B: 3, F: nil},
	{Str: "\u0BAA\u0B9F\u0BCD\u0B9F", A: -1, B: 3, F: nil},
	{Str: "\u0BAA\u0B9F\u0BCD\u0B9F\u0BA3", A: -1, B: 3, F: nil},
	{Str: "\u0BC6\u0BA9", A: -1, B: 1, F: nil},
	{Str: "\u0BA4\u0BBE\u0BA9", A: -1, B: 3, F: nil},
	{Str: "\u0BAA\u0B9F\u0BBF\u0BA4\u0BBE\u0BA9", A: 15, B: 3, F: nil},
	{Str: "\u0BC1\u0B9F\u0BC8\u0BAF", A: -1, B: 1, F: nil},
	{Str: "\u0BBE\u0B95\u0BBF\u0BAF", A: -1, B: 1, F: nil},
	{Str: "\u0B95\u0BC1\u0BB0\u0BBF\u0BAF", A: -1, B: 3, F: nil},
	{Str: "\u0BB2\u0BCD\u0BB2", A: -1, B: 2, F: nil},
	{Str: "\u0BC1\u0BB3\u0BCD\u0BB3", A: -1, B: 1, F: nil},
	{Str: "\u0BBE\u0B95\u0BBF", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0B9F\u0BBF", A: -1, B: 3, F: nil},
	{Str: "\u0BBF\u0BA9\u0BCD\u0BB1\u0BBF", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0BB1\u0BCD\u0BB1\u0BBF", A: -1, B: 3, F: nil},
}

var A_18 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_19 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_20 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: 7, F: nil},
	{Str: "\u0BCA\u0B9F\u0BC1", A: -1, B: 2, F: nil},
	{Str: "\u0BCB\u0B9F\u0BC1", A: -1, B: 2, F: nil},
	{Str: "\u0BA4\u0BC1", A: -1, B: 6, F: nil},
	{Str: "\u0BBF\u0BB0\u0BC1\u0BA8\u0BCD\u0BA4\u0BC1", A: 3, B: 2, F: nil},
	{Str: "\u0BBF\u0BA9\u0BCD\u0BB1\u0BC1", A: -1, B: 2, F: nil},
	{Str: "\u0BC1\u0B9F\u0BC8", A: -1, B: 2, F: nil},
	{Str: "\u0BA9\u0BC8", A: -1, B: 1, F: nil},
	{Str: "\u0B95\u0BA3\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BAE\u0BC1\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBF\u0BA9\u0BCD", A: -1, B: 3, F: nil},
	{Str: "\u0BBF\u0B9F\u0BAE\u0BCD", A: -1, B: 4, F: nil},
	{Str: "\u0BAE\u0BC7\u0BB1\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBF\u0BB1\u0BCD", A: -1, B: 2, F: nil},
	{Str: "\u0BB2\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BAE\u0BC7\u0BB2\u0BCD", A: 14, B: 1, F: nil},
	{Str: "\u0BBE\u0BAE\u0BB2\u0BCD", A: 14, B: 2, F: nil},
	{Str: "\u0BBE\u0BB2\u0BCD", A: 14, B: 2, F: nil},
	{Str: "\u0BBF\u0BB2\u0BCD", A: 14, B: 2, F: nil},
	{Str: "\u0BC1\u0BB3\u0BCD", A: -1, B: 2, F: nil},
	{Str: "\u0B95\u0BC0\u0BB4\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BB5\u0BBF\u0B9F", A: -1, B: 2, F: nil},
}

var A_21 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9F", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BB1", A: -1, B: -1, F: nil},
}

var A_22 = []*snowballRuntime.Among{
	{Str: "\u0B95", A: -1, B: -1, F: nil},
	{Str: "\u0B9A", A: -1, B: -1, F: nil},
	{Str: "\u0B9F", A: -1, B: -1, F: nil},
	{Str: "\u0BA4", A: -1, B: -1, F: nil},
	{Str: "\u0BAA", A: -1, B: -1, F: nil},
	{Str: "\u0BB1", A: -1, B: -1, F: nil},
}

var A_23 = []*snowballRuntime.Among{
	{Str: "\u0B85", A: -1, B: -1, F: nil},
	{Str: "\u0B86", A: -1, B: -1, F: nil},
	{Str: "\u0B87", A: -1, B: -1, F: nil},
	{Str: "\u0B88", A: -1, B: -1, F: nil},
	{Str: "\u0B89", A: -1, B: -1, F: nil},
	{Str: "\u0B8A", A: -1, B: -1, F: nil},
	{Str: "\u0B8E", A: -1, B: -1, F: nil},
	{Str: "\u0B8F", A: -1, B: -1, F: nil},
	{Str: "\u0B90", A: -1, B: -1, F: nil},
	{Str: "\u0B92", A: -1, B: -1, F: nil},
	{Str: "\u0B93", A: -1, B: -1, F: nil},
	{Str: "\u0B94", A: -1, B: -1, F: nil},
}

var A_24 = []*snowballRuntime.Among{
	{Str: "\u0BC0", A: -1, B: -1, F: nil},
	{Str: "\u0BC1", A: -1, B: -1, F: nil},
	{Str: "\u0BC2", A: -1, B: -1, F: nil},
	{Str: "\u0BC6", A: -1, B: -1, F: nil},
	{Str: "\u0BC7", A: -1, B: -1, F: nil},
	{Str: "\u0BC8", A: -1, B: -1, F: nil},
	{Str: "\u0BBE", A: -1, B: -1, F: nil},
	{Str: "\u0BBF", A: -1, B: -1, F: nil},
}

var A_25 = []*snowballRuntime.Among{
	{Str: "\u0B95\u0BC1", A: -1, B: 6, F: nil},
	{Str: "\u0BAA\u0B9F\u0BC1", A: -1, B: 1, F: nil},
	{Str: "\u0BA4\u0BC1", A: -1, B: 3, F: nil},
	{Str: "\u0BBF\u0BB1\u0BCD\u0BB1\u0BC1", A: -1, B: 1, F: nil},
	{Str: "\u0BA9\u0BC8", A: -1, B: 1, F: nil},
	{Str: "\u0BB5\u0BC8", A: -1, B: 1, F: nil},
	{Str: "\u0BA9\u0BC6\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BC7\u0BA9\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BB5\u0BA9\u0BCD", A: -1, B: 2, F: nil},
	{Str: "\u0BBE\u0BA9\u0BCD", A: -1, B: 4, F: nil},
	{Str: "\u0BA9\u0BBE\u0BA9\u0BCD", A: 11, B: 1, F: nil},
	{Str: "\u0BAE\u0BBF\u0BA9\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0B95\u0BC1\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0B9F\u0BC1\u0BAE\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA4\u0BC1\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BB1\u0BC1\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BC6\u0BAE\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BC7\u0BAE\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BCB\u0BAE\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0BAE\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBE\u0BAE\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BBE\u0BAF\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BC0\u0BB0\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BB0\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0BB0\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BC0\u0BAF\u0BB0\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BB5\u0BB0\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBE\u0BB0\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BBE\u0BB0\u0BCD", A: 30, B: 1, F: nil},
	{Str: "\u0BAE\u0BBE\u0BB0\u0BCD", A: 30, B: 1, F: nil},
	{Str: "\u0B95\u0BCA\u0BA3\u0BCD\u0B9F\u0BBF\u0BB0\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BA9\u0BBF\u0BB0\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BB3\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BAA\u0BB3\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BB5\u0BB3\u0BCD", A: -1, B: 1, F: nil},
	{Str: "\u0BBE\u0BB3\u0BCD", A: -1, B: 5, F: nil},
	{Str: "\u0BA9\u0BBE\u0BB3\u0BCD", A: 38, B: 1, F: nil},
	{Str: "\u0B95", A: -1, B: 1, F: nil},
	{Str: "\u0BA4", A: -1, B: 1, F: nil},
	{Str: "\u0BA9", A: -1, B: 1, F: nil},
	{Str: "\u0BAA", A: -1, B: 1, F: nil},
	{Str: "\u0BAF", A: -1, B: 1, F: nil},
	{Str: "\u0BBE", A: -1, B: 5, F: nil},
}

var A_26 = []*snowballRuntime.Among{
	{Str: "\u0B95\u0BBF\u0BA9\u0BCD\u0BB1\u0BCD", A: -1, B: -1, F: nil},
	{Str: "\u0BBE\u0BA8\u0BBF\u0BA9\u0BCD\u0BB1\u0BCD", A: -1, B: -1, F: nil},
	{Str: "\u0B95\u0BBF\u0BB1\u0BCD", A: -1, B: -1, F: nil},
	{Str: "\u0B95\u0BBF\u0BA9\u0BCD\u0BB1", A: -1, B: -1, F: nil},
	{Str: "\u0BBE\u0BA8\u0BBF\u0BA9\u0BCD\u0BB1", A: -1, B: -1, F: nil},
	{Str: "\u0B95\u0BBF\u0BB1", A: -1, B: -1, F: nil},
}

type Context struct {
	b_found_vetrumai_urupu bool
}

func r_fix_va_start(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var among_var int32
	env.Bra = env.Cursor
	among_var = env.FindAmong(A_0, context)
	if among_var == 0 {
		return false
	}
	env.Ket = env.Cursor
	switch among_var {
	case 1:
		env.SliceFrom("\u0B93")
	case 2:
		env.SliceFrom("\u0B92")
	case 3:
		env.SliceFrom("\u0B89")
	case 4:
		env.SliceFrom("\u0B8A")
	}
	return true
}

func r_fix_endings(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var v_1 = env.Cursor
lab0:
	for {
	replab1:
		for {
			var v_2 = env.Cursor
		lab2:
			for range [2]struct{}{} {
				if !r_fix_ending(env, context) {
					break lab2
				}
				continue replab1
			}
			env.Cursor = v_2
			break replab1
		}
		break lab0
	}
	env.Cursor = v_1
	return true
}

func r_fix_ending(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var among_var int32
	if snowballRuntime.RuneCountInString(env.Current()) < 4 {
		return false
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_5, context)
			if among_var == 0 {
				break lab1
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
				env.SliceDel()
			case 2:
				var v_2 = env.Limit - env.Cursor
				if env.FindAmongB(A_2, context) == 0 {
					break lab1
				}
				env.Cursor = env.Limit - v_2
				env.SliceDel()
			case 3:
				env.SliceFrom("\u0BB3\u0BCD")
			case 4:
				env.SliceFrom("\u0BB2\u0BCD")
			case 5:
				env.SliceFrom("\u0B9F\u0BC1")
			case 6:
				if !context.b_found_vetrumai_urupu {
					break lab1
				}
			lab2:
				for {
					if !env.EqSB("\u0BC8") {
						break lab2
					}
					break lab1
				}
				env.SliceFrom("\u0BAE\u0BCD")
			case 7:
				env.SliceFrom("\u0BCD")
			case 8:
				var v_3 = env.Limit - env.Cursor
			lab3:
				for {
					if env.FindAmongB(A_3, context) == 0 {
						break lab3
					}
					break lab1
				}
				env.Cursor = env.Limit - v_3
				env.SliceDel()
			case 9:
				among_var = env.FindAmongB(A_4, context)
				switch among_var {
				case 1:
					env.SliceDel()
				case 2:
					env.SliceFrom("\u0BAE\u0BCD")
				}
			}
			break lab0
		}
		env.Cursor = env.Limit - v_1
		env.Ket = env.Cursor
		if !env.EqSB("\u0BCD") {
			return false
		}
	lab4:
		for {
			var v_4 = env.Limit - env.Cursor
		lab5:
			for {
				if env.FindAmongB(A_6, context) == 0 {
					break lab5
				}
				var v_5 = env.Limit - env.Cursor
			lab6:
				for {
					if !env.EqSB("\u0BCD") {
						env.Cursor = env.Limit - v_5
						break lab6
					}
					if env.FindAmongB(A_7, context) == 0 {
						env.Cursor = env.Limit - v_5
						break lab6
					}
					break lab6
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab4
			}
			env.Cursor = env.Limit - v_4
		lab7:
			for {
				if env.FindAmongB(A_8, context) == 0 {
					break lab7
				}
				env.Bra = env.Cursor
				if !env.EqSB("\u0BCD") {
					break lab7
				}
				env.SliceDel()
				break lab4
			}
			env.Cursor = env.Limit - v_4
			var v_6 = env.Limit - env.Cursor
			if env.FindAmongB(A_9, context) == 0 {
				return false
			}
			env.Cursor = env.Limit - v_6
			env.Bra = env.Cursor
			env.SliceDel()
			break lab4
		}
		break lab0
	}
	env.Cursor = env.LimitBackward
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{
		b_found_vetrumai_urupu: false,
	}
	_ = context
	var among_var int32
	var b_found_a_match bool
	context.b_found_vetrumai_urupu = false
	var v_1 = env.Cursor
	r_fix_ending(env, context)
	env.Cursor = v_1
	if snowballRuntime.RuneCountInString(env.Current()) < 5 {
		return false
	}
	var v_2 = env.Cursor
lab0:
	for {
		env.Bra = env.Cursor
		if !env.EqS("\u0B8E") {
			break lab0
		}
		if env.FindAmong(A_1, context) == 0 {
			break lab0
		}
		if !env.EqS("\u0BCD") {
			break lab0
		}
		env.Ket = env.Cursor
		env.SliceDel()
		var v_3 = env.Cursor
		r_fix_va_start(env, context)
		env.Cursor = v_3
		break lab0
	}
	env.Cursor = v_2
	var v_4 = env.Cursor
lab1:
	for {
		env.Bra = env.Cursor
		if env.FindAmong(A_10, context) == 0 {
			break lab1
		}
		if env.FindAmong(A_11, context) == 0 {
			break lab1
		}
		if !env.EqS("\u0BCD") {
			break lab1
		}
		env.Ket = env.Cursor
		env.SliceDel()
		var v_5 = env.Cursor
		r_fix_va_start(env, context)
		env.Cursor = v_5
		break lab1
	}
	env.Cursor = v_4
lab2:
	for {
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			break lab2
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		var v_6 = env.Limit - env.Cursor
	lab3:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_14, context) == 0 {
				break lab3
			}
			env.Bra = env.Cursor
			env.SliceFrom("\u0BCD")
			break lab3
		}
		env.Cursor = env.Limit - v_6
		env.Cursor = env.LimitBackward
		r_fix_endings(env, context)
		break lab2
	}
	var v_7 = env.Cursor
lab4:
	for {
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			break lab4
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		env.Ket = env.Cursor
		if !env.EqSB("\u0BC1\u0BAE\u0BCD") {
			break lab4
		}
		env.Bra = env.Cursor
		env.SliceFrom("\u0BCD")
		env.Cursor = env.LimitBackward
		var v_8 = env.Cursor
		r_fix_ending(env, context)
		env.Cursor = v_8
		break lab4
	}
	env.Cursor = v_7
	var v_9 = env.Cursor
lab5:
	for {
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			break lab5
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_17, context)
		if among_var == 0 {
			break lab5
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceFrom("\u0BCD")
		case 2:
			var v_10 = env.Limit - env.Cursor
		lab6:
			for {
				if env.FindAmongB(A_16, context) == 0 {
					break lab6
				}
				break lab5
			}
			env.Cursor = env.Limit - v_10
			env.SliceFrom("\u0BCD")
		case 3:
			env.SliceDel()
		}
		env.Cursor = env.LimitBackward
		r_fix_endings(env, context)
		break lab5
	}
	env.Cursor = v_9
	var v_11 = env.Cursor
lab7:
	for {
		context.b_found_vetrumai_urupu = false
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			break lab7
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
	lab8:
		for {
			var v_12 = env.Limit - env.Cursor
		lab9:
			for {
				var v_13 = env.Limit - env.Cursor
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_20, context)
				if among_var == 0 {
					break lab9
				}
				env.Bra = env.Cursor
				switch among_var {
				case 1:
					env.SliceDel()
				case 2:
					env.SliceFrom("\u0BCD")
				case 3:
				lab10:
					for {
						if !env.EqSB("\u0BAE") {
							break lab10
						}
						break lab9
					}
					env.SliceFrom("\u0BCD")
				case 4:
					if snowballRuntime.RuneCountInString(env.Current()) < 7 {
						break lab9
					}
					env.SliceFrom("\u0BCD")
				case 5:
					var v_14 = env.Limit - env.Cursor
				lab11:
					for {
						if env.FindAmongB(A_18, context) == 0 {
							break lab11
						}
						break lab9
					}
					env.Cursor = env.Limit - v_14
					env.SliceFrom("\u0BCD")
				case 6:
					var v_15 = env.Limit - env.Cursor
				lab12:
					for {
						if env.FindAmongB(A_19, context) == 0 {
							break lab12
						}
						break lab9
					}
					env.Cursor = env.Limit - v_15
					env.SliceDel()
				case 7:
					env.SliceFrom("\u0BBF")
				}
				env.Cursor = env.Limit - v_13
				break lab8
			}
			env.Cursor = env.Limit - v_12
			var v_16 = env.Limit - env.Cursor
			env.Ket = env.Cursor
			if !env.EqSB("\u0BC8") {
				break lab7
			}
		lab13:
			for {
				var v_17 = env.Limit - env.Cursor
			lab14:
				for {
					var v_18 = env.Limit - env.Cursor
				lab15:
					for {
						if env.FindAmongB(A_21, context) == 0 {
							break lab15
						}
						break lab14
					}
					env.Cursor = env.Limit - v_18
					break lab13
				}
				env.Cursor = env.Limit - v_17
				var v_19 = env.Limit - env.Cursor
				if env.FindAmongB(A_22, context) == 0 {
					break lab7
				}
				if !env.EqSB("\u0BCD") {
					break lab7
				}
				env.Cursor = env.Limit - v_19
				break lab13
			}
			env.Bra = env.Cursor
			env.SliceFrom("\u0BCD")
			env.Cursor = env.Limit - v_16
			break lab8
		}
		context.b_found_vetrumai_urupu = true
		var v_20 = env.Limit - env.Cursor
	lab16:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("\u0BBF\u0BA9\u0BCD") {
				break lab16
			}
			env.Bra = env.Cursor
			env.SliceFrom("\u0BCD")
			break lab16
		}
		env.Cursor = env.Limit - v_20
		env.Cursor = env.LimitBackward
		r_fix_endings(env, context)
		break lab7
	}
	env.Cursor = v_11
	var v_21 = env.Cursor
lab17:
	for {
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_13, context)
		if among_var == 0 {
			break lab17
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
		lab18:
			for {
				var v_22 = env.Limit - env.Cursor
			lab19:
				for {
					if env.FindAmongB(A_12, context) == 0 {
						break lab19
					}
					env.SliceFrom("\u0BC1\u0B99\u0BCD")
					break lab18
				}
				env.Cursor = env.Limit - v_22
				env.SliceFrom("\u0BCD")
				break lab18
			}
		case 2:
			env.SliceFrom("\u0BB2\u0BCD")
		case 3:
			env.SliceFrom("\u0BB3\u0BCD")
		case 4:
			env.SliceDel()
		}
		env.Cursor = env.LimitBackward
		break lab17
	}
	env.Cursor = v_21
	var v_23 = env.Cursor
lab20:
	for {
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			break lab20
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		env.Ket = env.Cursor
		if env.FindAmongB(A_15, context) == 0 {
			break lab20
		}
		env.Bra = env.Cursor
		env.SliceDel()
		env.Cursor = env.LimitBackward
		break lab20
	}
	env.Cursor = v_23
	var v_24 = env.Cursor
lab21:
	for {
	replab22:
		for {
			var v_25 = env.Cursor
		lab23:
			for range [2]struct{}{} {
				b_found_a_match = false
				if snowballRuntime.RuneCountInString(env.Current()) < 5 {
					break lab23
				}
				env.LimitBackward = env.Cursor
				env.Cursor = env.Limit
				var v_26 = env.Limit - env.Cursor
			lab24:
				for {
					var v_27 = env.Limit - env.Cursor
					env.Ket = env.Cursor
					among_var = env.FindAmongB(A_25, context)
					if among_var == 0 {
						break lab24
					}
					env.Bra = env.Cursor
					switch among_var {
					case 1:
						env.SliceDel()
					case 2:
						var v_28 = env.Limit - env.Cursor
					lab25:
						for {
							if env.FindAmongB(A_23, context) == 0 {
								break lab25
							}
							break lab24
						}
						env.Cursor = env.Limit - v_28
						env.SliceDel()
					case 3:
						var v_29 = env.Limit - env.Cursor
					lab26:
						for {
							if env.FindAmongB(A_24, context) == 0 {
								break lab26
							}
							break lab24
						}
						env.Cursor = env.Limit - v_29
						env.SliceDel()
					case 4:
					lab27:
						for {
							if !env.EqSB("\u0B9A") {
								break lab27
							}
							break lab24
						}
						env.SliceFrom("\u0BCD")
					case 5:
						env.SliceFrom("\u0BCD")
					case 6:
						var v_30 = env.Limit - env.Cursor
						if !env.EqSB("\u0BCD") {
							break lab24
						}
						env.Cursor = env.Limit - v_30
						env.SliceDel()
					}
					b_found_a_match = true
					env.Cursor = env.Limit - v_27
					break lab24
				}
				env.Cursor = env.Limit - v_26
				var v_31 = env.Limit - env.Cursor
			lab28:
				for {
					env.Ket = env.Cursor
					if env.FindAmongB(A_26, context) == 0 {
						break lab28
					}
					env.Bra = env.Cursor
					env.SliceDel()
					b_found_a_match = true
					break lab28
				}
				env.Cursor = env.Limit - v_31
				env.Cursor = env.LimitBackward
				r_fix_endings(env, context)
				if !b_found_a_match {
					break lab23
				}
				continue replab22
			}
			env.Cursor = v_25
			break replab22
		}
		break lab21
	}
	env.Cursor = v_24
	return true
}
