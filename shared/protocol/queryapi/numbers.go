package queryapi

import (
	"slices"
	"strconv"
)

// ReadVector reads the JSON value that data begins with, if it is one vector: an array of numbers, or an object that has
// only the field single_vector. It returns the length of the value, and 0 for any other value, whether valid or not. It
// reads the text once, where a general decoder reads it three times.
func ReadVector(data []byte) (v Vector, length int) {
	at := behindOnly(data, `"single_vector"`)
	if at == len(data) || data[at] != '[' {
		return Vector{}, 0
	}
	numbers, length := readNumbers(data[at+1:], 0)
	if len(numbers) == 0 {
		return Vector{}, 0
	}
	length += at + 1
	if at > 0 {
		if length = closed(data, length); length == 0 {
			return Vector{}, 0
		}
	}
	return Vector{Vectors: [][]float64{numbers}}, length
}

// readNumbers reads the rest of a JSON array behind its opening bracket, and returns its numbers and the length of the
// text with the closing bracket. The length is 0 if the text is anything but an array of numbers with at most
// [MaxVectorDimensions] elements. room is the expected length of the result, 0 if it is unknown.
func readNumbers(data []byte, room int) (numbers []float64, length int) {
	if room > 0 {
		return appendNumbers(make([]float64, 0, room), data)
	}
	var few [256]float64 // on the stack, so that the result is allocated once
	numbers, length = appendNumbers(few[:0], data)
	return slices.Clone(numbers), length
}

// appendNumbers does the work of readNumbers, and appends to numbers.
func appendNumbers(numbers []float64, data []byte) (_ []float64, length int) {
	at := skipSpace(data, 0)
	for at < len(data) && data[at] != ']' {
		number, end := readNumber(data[at:])
		if end == 0 || len(numbers) == MaxVectorDimensions {
			return nil, 0
		}
		numbers = append(numbers, number)
		at = skipSpace(data, at+end)
		if at == len(data) || data[at] != ',' {
			break
		}
		if at = skipSpace(data, at+1); at < len(data) && data[at] == ']' {
			return nil, 0
		}
	}
	if at == len(data) || data[at] != ']' {
		return nil, 0
	}
	return numbers, at + 1
}

// exactDigits is a number of digits that always fit into 64 bits.
const exactDigits = 18

// powersOfTen are the powers that a float64 holds exactly.
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// readNumber parses the JSON number that data begins with, and returns its length, 0 if there is none or it exceeds a
// float64. Digits that make an integer below 2^53 are exact as a float64, and so is a small power of ten, so their
// quotient is the nearest float64. All other numbers go through package strconv.
func readNumber(data []byte) (number float64, length int) {
	at := 0
	if data[0] == '-' {
		at++
	}
	digits, first := uint64(0), at
	for ; at < len(data) && isDigit(data[at]); at++ {
		digits = 10*digits + uint64(data[at]-'0')
	}
	if at == first || data[first] == '0' && at > first+1 {
		return 0, 0
	}
	count, decimals := at-first, 0
	if at < len(data) && data[at] == '.' {
		point := at
		for at++; at < len(data) && isDigit(data[at]); at++ {
			digits = 10*digits + uint64(data[at]-'0')
		}
		if decimals = at - point - 1; decimals == 0 {
			return 0, 0
		}
	}
	if at < len(data) && data[at]|0x20 == 'e' {
		if at = skipExponent(data, at); at == 0 {
			return 0, 0
		}
		count = exactDigits + 1
	}
	if count += decimals; count > exactDigits || digits >= 1<<53 {
		number, err := strconv.ParseFloat(string(data[:at]), 64)
		if err != nil {
			return 0, 0
		}
		return number, at
	}
	number = float64(digits) / powersOfTen[decimals]
	if data[0] == '-' {
		number = -number
	}
	return number, at
}

// skipExponent returns the position behind the exponent whose letter is at a position, 0 if the exponent has no digits.
func skipExponent(data []byte, at int) int {
	if at++; at < len(data) && (data[at] == '+' || data[at] == '-') {
		at++
	}
	first := at
	for at < len(data) && isDigit(data[at]) {
		at++
	}
	if at == first {
		return 0
	}
	return at
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skipSpace returns the position of the first byte that is not space, from a position on.
func skipSpace(data []byte, at int) int {
	for at < len(data) && isSpace(data[at]) {
		at++
	}
	return at
}
