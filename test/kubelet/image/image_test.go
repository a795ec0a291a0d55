package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpack reads a tar: contents by name, a link as "-> target".
func unpack(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	archive := tar.NewReader(bytes.NewReader(raw))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(data)
		if header.Typeflag == tar.TypeSymlink {
			files[header.Name] = "-> " + header.Linkname
		}
	}
}

func TestAnArchiveHasItsImages(t *testing.T) {
	t.Parallel()
	var raw bytes.Buffer
	files := []File{{Path: "bin/box", Mode: 0o755, Data: []byte("program")}, {Path: "bin/sh", Link: "box"}}
	if err := Write(&raw, files, Image{Name: "a:1", Entrypoint: []string{"/bin/box"}}, Image{Name: "b:1", Entrypoint: []string{"/bin/box", "x"}}); err != nil {
		t.Fatal(err)
	}
	archive := unpack(t, raw.Bytes())
	if diff := cmp.Diff(map[string]string{"bin/box": "program", "bin/sh": "-> box"}, unpack(t, []byte(archive[layerName]))); diff != "" {
		t.Errorf("the layer (-want +got)\n%s", diff)
	}
	var contents []entry
	if err := json.Unmarshal([]byte(archive["manifest.json"]), &contents); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range contents {
		names = append(names, e.RepoTags[0])
		var c config
		if err := json.Unmarshal([]byte(archive[e.Config]), &c); err != nil {
			t.Fatal(err)
		}
		if e.Config != sum([]byte(archive[e.Config]))+".json" || c.RootFS.DiffIDs[0] != "sha256:"+sum([]byte(archive[layerName])) {
			t.Errorf("%s: a runtime would refuse the sums of %s: %v", e.RepoTags, e.Config, c.RootFS.DiffIDs)
		}
		names = append(names, strings.Join(c.Config.Entrypoint, " "))
	}
	if diff := cmp.Diff([]string{"a:1", "/bin/box", "b:1", "/bin/box x"}, names); diff != "" {
		t.Errorf("images (-want +got)\n%s", diff)
	}
}
