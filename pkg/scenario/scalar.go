package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kind is what a scalar is by the core schema of YAML 1.2, with one narrowing:
// only true and false are booleans; n, y, on and off are words.
type kind string

const (
	kindText  kind = "text"
	kindBool  kind = "a boolean"
	kindInt   kind = "a whole number"
	kindFloat kind = "a number"
	kindNull  kind = "nothing"
)

// digitsFrom is how many digits follow a place.
func digitsFrom(text string, at int) int {
	n := 0
	for at+n < len(text) && text[at+n] >= '0' && text[at+n] <= '9' {
		n++
	}
	return n
}

// signed is 1 after a sign, else 0.
func signed(text string) int {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return 1
	}
	return 0
}

func isWhole(text string) bool {
	from := signed(text)
	n := digitsFrom(text, from)
	return n > 0 && from+n == len(text)
}

func isOctalOrHex(text string) bool {
	if len(text) < 3 {
		return false
	}
	switch text[:2] {
	case "0o":
		return strings.Trim(text[2:], "01234567") == ""
	case "0x":
		return strings.Trim(text[2:], "0123456789abcdefABCDEF") == ""
	}
	return false
}

// isReal says whether a text is a number with a point or an exponent.
func isReal(text string) bool {
	at := signed(text)
	whole := digitsFrom(text, at)
	at += whole
	if at < len(text) && text[at] == '.' {
		part := digitsFrom(text, at+1)
		if whole+part == 0 {
			return false
		}
		at += 1 + part
	} else if whole == 0 {
		return false
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		at++
		at += signed(text[at:])
		exponent := digitsFrom(text, at)
		if exponent == 0 {
			return false
		}
		at += exponent
	}
	return at == len(text)
}

// kindOf is the kind of a scalar node. The parser's own tags are those of
// YAML 1.1 where the two differ (010, 1_000, dates), so that they count only
// where somebody wrote them.
func kindOf(node *yaml.Node) kind {
	if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return kindText
	}
	if node.Style&yaml.TaggedStyle != 0 {
		switch node.Tag {
		case "!!str":
			return kindText
		case "!!null":
			return kindNull
		}
	}
	switch text := node.Value; {
	case text == "" || text == "~" || text == "null" || text == "Null" || text == "NULL":
		return kindNull
	case text == "true" || text == "false":
		return kindBool
	case isWhole(text) || isOctalOrHex(text):
		return kindInt
	case isReal(text):
		return kindFloat
	}
	return kindText
}

// integer reads a whole number: 010 is ten.
func integer(text string) (int64, error) {
	if isOctalOrHex(text) {
		return strconv.ParseInt(text, 0, 64)
	}
	return strconv.ParseInt(strings.TrimPrefix(text, "+"), 10, 64)
}

// plain is the value of a scalar as JSON would have it.
func plain(node *yaml.Node) (any, error) {
	switch kindOf(node) {
	case kindNull:
		return nil, nil
	case kindBool:
		return node.Value == "true", nil
	case kindInt:
		n, err := integer(node.Value)
		if err != nil {
			return nil, fmt.Errorf("%s is too large a number", node.Value)
		}
		return n, nil
	case kindFloat:
		f, err := strconv.ParseFloat(node.Value, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s is too large a number", node.Value)
		}
		return f, nil
	case kindText:
	}
	return node.Value, nil
}

// Value is a word as YAML would read it: a number, a boolean, or the word.
func Value(word string) any {
	v, err := plain(&yaml.Node{Kind: yaml.ScalarNode, Value: word})
	if err != nil || v == nil {
		return word
	}
	return v
}
