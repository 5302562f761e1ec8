// Command words is an example function for Tiltyard with two outputs of a text: its words in lower
// case, and a vector that counts the words by a hash. The variable LENGTH sets the length of the
// vector. Texts with the same words have equal vectors of norm 1.
package main

import (
	"errors"
	"hash/fnv"
	"math"
	"os"
	"strconv"
	"strings"

	guest "tiltyard/local/guest/go"
)

var length = 8

func init() { //nolint:gochecknoinits // a module has no other beginning
	guest.OnOpen(func(guest.Opening) (err error) {
		if text := os.Getenv("LENGTH"); text != "" {
			if length, err = strconv.Atoi(text); err != nil || length < 1 || length > 10000 {
				err = errors.New("LENGTH is " + text + "; a number from 1 to 10000 is needed")
			}
		}
		return err
	})
	guest.Columns(func(in guest.Batch) []guest.Output {
		lists, vectors := &guest.StringLists{}, &guest.Vectors{Length: length}
		for i := range in.Rows {
			if in.Columns[0].IsNull(i) {
				lists.Null()
				vectors.Null()
				continue
			}
			words := strings.Fields(strings.ToLower(in.Columns[0].String(i)))
			lists.Append(words)
			vectors.Append(embed(words))
		}
		return []guest.Output{lists, vectors}
	})
}

// embed returns the vector of a list of words.
func embed(words []string) []float32 {
	vector := make([]float32, length)
	for _, word := range words {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(word))
		vector[hash.Sum32()%uint32(length)]++
	}
	sum := 0.0
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	if sum > 0 {
		for i := range vector {
			vector[i] = float32(float64(vector[i]) / math.Sqrt(sum))
		}
	}
	return vector
}

func main() {}
