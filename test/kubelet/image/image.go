// Package image packs container images without any tool: a tar as `docker
// save` writes it, which container runtimes import.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
)

// File is a file of an image; all belong to root.
type File struct {
	Path string // from the root, without a slash before
	Mode int64
	Data []byte
	Link string // a symbolic link to this path, in place of Data
}

// Image is one image of an archive.
type Image struct {
	Name       string // NAME:TAG
	Entrypoint []string
}

// config is the part of an image's configuration that a runtime reads.
type config struct {
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	Config       run      `json:"config"`
	RootFS       rootFS   `json:"rootfs"`
	History      []string `json:"history"`
}

type run struct {
	Entrypoint []string
	Env        []string
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// entry is an image in the archive's table of contents.
type entry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// layerName is the one layer that the images of an archive share.
const layerName = "layer.tar"

// Write writes an archive of images that have the same files.
func Write(out io.Writer, files []File, images ...Image) error {
	layer, err := pack(files)
	if err != nil {
		return fmt.Errorf("pack the layer: %w", err)
	}
	all := []File{{Path: layerName, Mode: 0o644, Data: layer}}
	var contents []entry
	for _, i := range images {
		raw, err := json.Marshal(config{
			Architecture: runtime.GOARCH,
			OS:           "linux",
			Config:       run{Entrypoint: i.Entrypoint, Env: []string{"PATH=/bin"}},
			RootFS:       rootFS{Type: "layers", DiffIDs: []string{"sha256:" + sum(layer)}},
			History:      []string{},
		})
		if err != nil {
			return err
		}
		name := sum(raw) + ".json"
		all = append(all, File{Path: name, Mode: 0o644, Data: raw})
		contents = append(contents, entry{Config: name, RepoTags: []string{i.Name}, Layers: []string{layerName}})
	}
	raw, err := json.Marshal(contents)
	if err != nil {
		return err
	}
	archive, err := pack(append(all, File{Path: "manifest.json", Mode: 0o644, Data: raw}))
	if err != nil {
		return err
	}
	_, err = out.Write(archive)
	return err
}

func sum(raw []byte) string {
	digest := sha256.Sum256(raw)
	return hex.EncodeToString(digest[:])
}

func pack(files []File) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.Path, Mode: f.Mode, Size: int64(len(f.Data)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.Link != "" {
			header.Typeflag, header.Linkname, header.Size = tar.TypeSymlink, f.Link, 0
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if f.Link != "" {
			continue
		}
		if _, err := archive.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
