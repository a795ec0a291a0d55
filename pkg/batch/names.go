package batch

import "strings"

// nameMax is the longest name that fits into a label.
const nameMax = 63

// IsName says whether a text can name an object that others name in a label, such as a
// Job, a node or a queue: plain names with dots between them (RFC 1123).
func IsName(text string) bool { return isDotted(text) && len(text) <= nameMax }

// IsPlainName says whether a text is a name without dots, as those of namespaces and of
// pods that find each other are.
func IsPlainName(text string) bool { return isPlain(text) && len(text) <= nameMax }

func isDotted(text string) bool {
	for part := range strings.SplitSeq(text, ".") {
		if !isPlain(part) {
			return false
		}
	}
	return true
}

func isPlain(text string) bool {
	for i := range len(text) {
		c, inside := text[i], i > 0 && i+1 < len(text)
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || !inside) {
			return false
		}
	}
	return text != ""
}
