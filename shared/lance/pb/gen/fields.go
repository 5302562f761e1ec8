package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// scalars are the methods of Scanner and Encoder for a type, and the type that the
// Encoder's method takes.
var scalars = map[string]struct{ read, write, as string }{
	"uint64":  {"Uint64", "Uint64", ""},
	"uint32":  {"Uint32", "Uint64", "uint64"},
	"int64":   {"Int64", "Uint64", "uint64"},
	"int32":   {"Int32", "Int32", ""},
	"bool":    {"Bool", "Bool", ""},
	"string":  {"String", "String", ""},
	"float64": {"Float64", "Float64", ""},
	"float32": {"Float32", "Float32", ""},
}

// codings are the statements that read and write fields of types that have functions of
// their own in package pb. In a codec, depth is the number of codecs around it.
var codings = map[string]struct{ read, write string }{
	"Codec":              {"scanCodec(s, &m.%[1]s, %[3]s)", "encodeCodec(e, %[2]s, m.%[1]s)"},
	"ArrayEncoding":      {"scanArray(s, &m.%[1]s, depth)", ""},
	"[]ArrayEncoding":    {"scanArrays(s, &m.%[1]s, depth)", ""},
	"BufferCompression":  {"scanCompression(s, &m.%[1]s)", "encodeCompression(e, %[2]s, &m.%[1]s)"},
	"*BufferCompression": {"m.%[1]s = new(BufferCompression)\nscanCompression(s, m.%[1]s)", "encodeCompression(e, %[2]s, m.%[1]s)"},
	"Layout":             {"scanInnerLayout(s, &m.%[1]s)", "encodeLayout(e, %[2]s, m.%[1]s)"},
	"[]RepDefLayer":      {"scanLayers(s, &m.%[1]s)", "Packed(e, %[2]s, m.%[1]s)"},
	"map[string]string":  {"ScanMapEntry(s, &m.%[1]s)", "EncodeMap(e, %[2]s, m.%[1]s)"},
	"map[uint64][]byte":  {"scanBytesByNumber(s, &m.%[1]s)", "encodeBytesByNumber(e, %[2]s, m.%[1]s)"},
	"[]byte":             {"m.%[1]s = s.Bytes()", "e.Bytes(%[2]s, m.%[1]s)"},
	"[][]byte":           {"m.%[1]s = append(m.%[1]s, s.Bytes())", "for _, raw := range m.%[1]s {\ne.AlwaysBytes(%[2]s, raw)\n}"},
	"*string":            {"m.%[1]s = ptr(s.String())", "if m.%[1]s != nil {\ne.AlwaysString(%[2]s, *m.%[1]s)\n}"},
	"[]string":           {"m.%[1]s = append(m.%[1]s, string(s.Bytes()))", "for _, text := range m.%[1]s {\ne.AlwaysBytes(%[2]s, []byte(text))\n}"},
	"[]PackedField":      {"scanPackedField(s, &m.%[1]s, depth)", "for i := range m.%[1]s {\ne.Message(%[2]s, m.%[1]s[i].marshal)\n}"},
	"BufferRef":          {"s.Message(m.%[1]s.Unmarshal)", ""},
}

// read returns the statement that reads a field.
func (g *generator) read(m message, f field) string {
	if f.optional {
		return fmt.Sprintf("m.%s = present(s.Bytes())", f.name)
	}
	if c, ok := codings[f.typ]; ok {
		depth := "0"
		if m.kind == "codec" {
			depth = "depth"
		}
		statement := c.read
		for i, value := range []string{f.name, f.number, depth} {
			statement = strings.ReplaceAll(statement, fmt.Sprintf("%%[%d]s", i+1), value)
		}
		return statement
	}
	if s, ok := scalars[f.typ]; ok {
		return fmt.Sprintf("m.%s = s.%s()", f.name, s.read)
	}
	switch base := strings.TrimLeft(f.typ, "[]*"); {
	case strings.HasPrefix(f.typ, "*") && scalars[base].read != "":
		return fmt.Sprintf("m.%s = ptr(s.%s())", f.name, scalars[base].read)
	case strings.HasPrefix(f.typ, "[]*"):
		return fmt.Sprintf("pointers(s, &m.%s)", f.name)
	case strings.HasPrefix(f.typ, "[]") && g.kinds[base] == "struct":
		return fmt.Sprintf("values(s, &m.%s)", f.name)
	case strings.HasPrefix(f.typ, "[]"):
		return fmt.Sprintf("s.Varints(func(v uint64) { m.%[1]s = append(m.%[1]s, %[2]s(v)) })", f.name, base)
	case strings.HasPrefix(f.typ, "*"):
		return fmt.Sprintf("m.%[1]s = new(%[2]s)\ns.Message(m.%[1]s.Unmarshal)", f.name, base)
	case scalars[g.kinds[f.typ]].read != "":
		return fmt.Sprintf("m.%s = %s(s.%s())", f.name, f.typ, scalars[g.kinds[f.typ]].read)
	}
	return fmt.Sprintf("s.Message(m.%s.Unmarshal)", f.name)
}

// write returns the statement that writes a field.
func (g *generator) write(_ message, f field) string {
	if f.optional {
		return fmt.Sprintf("if m.%[1]s != nil {\ne.AlwaysBytes(%[2]s, m.%[1]s)\n}", f.name, f.number)
	}
	if c, ok := codings[f.typ]; ok {
		return strings.NewReplacer("%[1]s", f.name, "%[2]s", f.number).Replace(c.write)
	}
	value := "m." + f.name
	if s, ok := scalars[f.typ]; ok {
		if s.as != "" {
			value = s.as + "(" + value + ")"
		}
		return fmt.Sprintf("e.%s(%s, %s)", s.write, f.number, value)
	}
	switch base := strings.TrimLeft(f.typ, "[]*"); {
	case strings.HasPrefix(f.typ, "*") && scalars[base].read != "":
		return fmt.Sprintf("optional(e, %s, %s)", f.number, value)
	case strings.HasPrefix(f.typ, "[]*"):
		return fmt.Sprintf("for _, v := range %s {\ne.Message(%s, v.Marshal)\n}", value, f.number)
	case strings.HasPrefix(f.typ, "[]") && g.kinds[base] == "struct":
		return fmt.Sprintf("for i := range %[1]s {\ne.Message(%[2]s, %[1]s[i].Marshal)\n}", value, f.number)
	case strings.HasPrefix(f.typ, "[]"):
		return fmt.Sprintf("Packed(e, %s, %s)", f.number, value)
	case strings.HasPrefix(f.typ, "*"):
		return fmt.Sprintf("if %[1]s != nil {\ne.Message(%[2]s, %[1]s.Marshal)\n}", value, f.number)
	case g.kinds[f.typ] == "int32":
		return fmt.Sprintf("e.Int32(%s, int32(%s))", f.number, value)
	case scalars[g.kinds[f.typ]].read != "":
		return fmt.Sprintf("e.Uint64(%s, uint64(%s))", f.number, value)
	}
	return fmt.Sprintf("e.Message(%s, %s.Marshal)", f.number, value)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
