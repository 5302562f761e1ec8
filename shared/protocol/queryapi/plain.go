package queryapi

import "bytes"

// The functions of this file read the forms in which nearly all clients write a value, without a general decoder. They
// return the length of the text that they have read, and 0 if the text has another form, whether that is valid or not.

// behindOnly returns the position of the value in an object whose first field has a key, given with its quotes.
func behindOnly(data []byte, key string) int {
	if len(data) == 0 || data[0] != '{' {
		return 0
	}
	at := skipSpace(data, 1)
	if !bytes.HasPrefix(data[at:], []byte(key)) {
		return 0
	}
	if at = skipSpace(data, at+len(key)); at == len(data) || data[at] != ':' {
		return 0
	}
	if at = skipSpace(data, at+1); at == len(data) {
		return 0
	}
	return at
}

// closed returns the position behind the end of an object, if that is the next byte from a position on.
func closed(data []byte, at int) int {
	if at = skipSpace(data, at); at == len(data) || data[at] != '}' {
		return 0
	}
	return at + 1
}

// readText reads a string of ASCII characters without escapes.
func readText(data []byte) (text string, length int) {
	if len(data) == 0 || data[0] != '"' {
		return "", 0
	}
	for at := 1; at < len(data); at++ {
		switch c := data[at]; {
		case c == '"':
			return string(data[1:at]), at + 1
		case c == '\\' || c < ' ' || c > '~':
			return "", 0
		}
	}
	return "", 0
}

// readNames reads an array of names, none of which is empty.
func readNames(data []byte) (names Projection, length int) {
	if len(data) == 0 || data[0] != '[' {
		return nil, 0
	}
	for at := skipSpace(data, 1); ; at = skipSpace(data, at+1) {
		name, end := readText(data[at:])
		if name == "" {
			return nil, 0
		}
		names = append(names, ProjectedColumn{Name: name})
		switch at = skipSpace(data, at+end); {
		case at == len(data):
			return nil, 0
		case data[at] == ']':
			return names, at + 1
		case data[at] != ',':
			return nil, 0
		}
	}
}

// plainProjection reads an array of names, or an object that has only such an array in the field column_names. It returns
// nil for any other value.
func plainProjection(data []byte) Projection {
	names, length := readNames(data)
	if at := behindOnly(data, `"column_names"`); at > 0 {
		if names, length = readNames(data[at:]); length > 0 {
			length = closed(data, at+length)
		}
	}
	if length < len(data) {
		return nil
	}
	return names
}

// plainText reads a text query without a list of columns. ok is false for any other value.
func plainText(data []byte) (text string, ok bool) {
	outer := behindOnly(data, `"string_query"`)
	inner := behindOnly(data[outer:], `"query"`)
	if inner == 0 {
		return "", false
	}
	text, length := readText(data[outer+inner:])
	if length == 0 {
		return "", false
	}
	length = closed(data, outer+inner+length)
	if length > 0 && outer > 0 {
		length = closed(data, length)
	}
	return text, length == len(data)
}
