package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// An object is a JSON object with ordered members.
type object []member

type member struct {
	Name  string
	Value any
}

// with returns the object with one more member.
func (o object) with(name string, value any) object {
	return append(o[:len(o):len(o)], member{name, value})
}

// get returns the value of a member, or nil if there is none.
func (o object) get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, part := range []any{m.Name, m.Value} {
			if j > 0 {
				out.WriteByte(':')
			}
			if err := writeValue(&out, part); err != nil {
				return nil, err
			}
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// writeValue writes a value on one line, without escaping <, > and &.
func writeValue(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the line break
	return nil
}

// encode writes an object with one line for each path and each schema, so that differences between
// versions are readable.
func encode(o object) ([]byte, error) {
	var out bytes.Buffer
	if err := o.lines(&out, 0); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// lines writes each member of the outer objects on its own line.
func (o object) lines(out *bytes.Buffer, depth int) error {
	const outer = 3
	indent := strings.Repeat(" ", depth+1)
	out.WriteString("{")
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := object{{m.Name, nil}}.MarshalJSON()
		if err != nil {
			return err
		}
		out.WriteString("\n" + indent + string(bytes.TrimSuffix(name[1:], []byte("null}"))) + " ")
		if inner, ok := m.Value.(object); ok && depth+1 < outer {
			if err := inner.lines(out, depth+1); err != nil {
				return err
			}
			continue
		}
		if err := writeValue(out, m.Value); err != nil {
			return err
		}
	}
	out.WriteString("\n" + indent[1:] + "}")
	return nil
}
