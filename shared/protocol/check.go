package protocol

import "strconv"

// NotNegative checks an optional count.
func NotNegative(field string, v *int64) error {
	if v != nil && *v < 0 {
		return Errorf(InvalidInput, "%s is %d; it must not be negative", field, *v)
	}
	return nil
}

// AtMost checks an optional count against its limit.
func AtMost(field string, v *int64, limit int64) error {
	if err := NotNegative(field, v); err != nil {
		return err
	}
	if v != nil && *v > limit {
		return Errorf(InvalidInput, "%s is %d; at most %d is possible", field, *v, limit)
	}
	return nil
}

// RequireText refuses an absent or empty field.
func RequireText(field, value string) error {
	if value == "" {
		return Errorf(InvalidInput, "%s is required and must not be empty", field)
	}
	return nil
}

// QuoteShort quotes a text from a client for a message, cut to 80 bytes.
func QuoteShort(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strconv.Quote(s)
}

// MaxFilterBytes bounds the bytes of a filter.
const MaxFilterBytes = 64 << 10

// The limits of properties.
const (
	MaxProperties    = 256
	MaxPropertyBytes = 4096 // of a key, and of a value
)

// CheckProperties refuses too many properties, and keys or values that are too long.
func CheckProperties(properties map[string]string) error {
	if len(properties) > MaxProperties {
		return Errorf(InvalidInput, "properties holds %d entries; at most %d are possible", len(properties), MaxProperties)
	}
	for key, value := range properties {
		if key == "" || len(key) > MaxPropertyBytes || len(value) > MaxPropertyBytes {
			return Errorf(InvalidInput, "property %s: keys have 1 to %d bytes, values up to %d", QuoteShort(key), MaxPropertyBytes, MaxPropertyBytes)
		}
	}
	return nil
}

// BranchName returns the name of a branch. For the table itself, which requests may call main, it
// returns "".
func BranchName(branch string) string {
	if branch == "main" {
		return ""
	}
	return branch
}

// RequireName refuses the id of the root namespace where a table's is needed.
func RequireName(id []string) error {
	if len(id) == 0 {
		return Errorf(InvalidInput, "the id must name a table, not the root namespace")
	}
	return nil
}
