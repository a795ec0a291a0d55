package scenario

import (
	"fmt"
	"math"
	"regexp"
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

var (
	wholeNumber = regexp.MustCompile(`^[-+]?[0-9]+$`)
	octalOrHex  = regexp.MustCompile(`^0o[0-7]+$|^0x[0-9a-fA-F]+$`)
	realNumber  = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

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
	case wholeNumber.MatchString(text) || octalOrHex.MatchString(text):
		return kindInt
	case realNumber.MatchString(text):
		return kindFloat
	}
	return kindText
}

// integer reads a whole number: 010 is ten.
func integer(text string) (int64, error) {
	if octalOrHex.MatchString(text) {
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
