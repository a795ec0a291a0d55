package report

import "time"

// grid is how much of each row was used in each stretch of time: what is drawn
// where single runs would be too many. Columns get wider as time goes on.
type grid struct {
	rows  int
	width time.Duration
	cells [][]float64 // by row: units times seconds
}

func (g *grid) add(row int, in span, units float64) {
	if g.rows == 0 || row >= g.rows {
		return
	}
	if g.cells == nil {
		g.cells, g.width = make([][]float64, g.rows), time.Second
	}
	for in.till > g.width*gridMax {
		g.halve()
	}
	for from := in.from; from < in.till; {
		i := int(from / g.width)
		till := min(in.till, time.Duration(i+1)*g.width)
		for len(g.cells[row]) <= i {
			g.cells[row] = append(g.cells[row], 0)
		}
		g.cells[row][i] += units * (till - from).Seconds()
		from = till
	}
}

func (g *grid) halve() {
	for r, cells := range g.cells {
		n := (len(cells) + 1) / 2
		for i := range n {
			sum := cells[2*i]
			if 2*i+1 < len(cells) {
				sum += cells[2*i+1]
			}
			cells[i] = sum
		}
		g.cells[r] = cells[:n]
	}
	g.width *= 2
}

// shares are the cells as percentages of what the rows have.
func (g *grid) shares(sizes []float64) [][]int {
	capacity := make([]float64, g.rows)
	for i, size := range sizes {
		capacity[i*g.rows/len(sizes)] += size
	}
	out := make([][]int, g.rows)
	for r := range g.rows {
		out[r] = []int{}
		if r >= len(g.cells) {
			continue
		}
		for _, cell := range g.cells[r] {
			share := 0
			if all := capacity[r] * g.width.Seconds(); all > 0 {
				share = int(min(100, 100*cell/all+0.5))
			}
			out[r] = append(out[r], share)
		}
	}
	return out
}
