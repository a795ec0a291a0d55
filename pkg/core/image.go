package core

import "github.com/berth-dev/berth/pkg/state"

// Image is the working set as plain data, for a journal.
type Image = state.Image

// Image returns the working set as it is now.
func (c *Core) Image() Image { return c.state.Image() }

// Restore returns a core that goes on from an image: it plans as the core did
// that the image was taken of.
func Restore(image Image) *Core { return &Core{state: state.Restore(image)} }
