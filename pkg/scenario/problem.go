package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// problemsMax bounds how many problems of a file are told at once.
const problemsMax = 20

// Problem is one thing that is wrong with a file.
type Problem struct {
	File     string // or flag, if it is not the file that is read
	Document int    // from 1; 0: the file as a whole
	Line     int    // 0: unknown
	Path     string // of the field; empty: the document
	Text     string
}

// String says where, then what.
func (p Problem) String() string {
	var parts []string
	if p.Document > 0 {
		parts = append(parts, fmt.Sprintf("document %d", p.Document))
	}
	if p.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", p.Line))
	}
	text := p.Text
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if len(parts) == 0 {
		return text
	}
	return strings.Join(parts, ", ") + ": " + text
}

// FileError is a file that is wrong.
type FileError struct {
	File     string
	Problems []Problem
}

// Error lists the problems, a line each.
func (e *FileError) Error() string {
	var lines []string
	for i, p := range e.Problems {
		if i == problemsMax {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, len(e.Problems)-problemsMax))
			break
		}
		lines = append(lines, cmp.Or(p.File, e.File)+": "+p.String())
	}
	return strings.Join(lines, "\n")
}

// findings collects problems while a file is read.
type findings struct{ list []Problem }

func (f *findings) add(p Problem) { f.list = append(f.list, p) }

func (f *findings) err(file string) error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line))
	})
	return &FileError{File: file, Problems: f.list}
}
