package report

import "time"

// seriesMax is how many points of a series are kept: more than a screen has.
const seriesMax = 2048

// series is a step function of time, kept in ever wider buckets: the mean and
// the most of each.
type series struct {
	width time.Duration // of a bucket
	sum   []float64     // value times seconds
	most  []float64
	value float64 // since
	since time.Duration
}

func (s *series) set(at time.Duration, value float64) {
	s.advance(at)
	s.value = value
	if i := s.bucket(at); i < len(s.most) {
		s.most[i] = max(s.most[i], value)
	}
}

// advance fills the buckets up to a time.
func (s *series) advance(at time.Duration) {
	if s.width == 0 {
		s.width = time.Second
	}
	for at > s.width*seriesMax {
		s.halve()
	}
	for s.since < at {
		i := s.bucket(s.since)
		till := min(at, time.Duration(i+1)*s.width)
		s.grow(i)
		s.sum[i] += s.value * (till - s.since).Seconds()
		s.most[i] = max(s.most[i], s.value)
		s.since = till
	}
	s.grow(s.bucket(at))
}

func (s *series) bucket(at time.Duration) int { return min(int(at/s.width), seriesMax-1) }

func (s *series) grow(i int) {
	for len(s.sum) <= i {
		s.sum, s.most = append(s.sum, 0), append(s.most, 0)
	}
}

// halve makes one bucket of two.
func (s *series) halve() {
	n := (len(s.sum) + 1) / 2
	for i := range n {
		s.sum[i], s.most[i] = s.sum[2*i], s.most[2*i]
		if 2*i+1 < len(s.sum) {
			s.sum[i] += s.sum[2*i+1]
			s.most[i] = max(s.most[i], s.most[2*i+1])
		}
	}
	s.sum, s.most = s.sum[:n], s.most[:n]
	s.width *= 2
}

// means are the mean values of the buckets up to an end.
func (s *series) means(end time.Duration) []float64 {
	s.advance(end)
	out := make([]float64, len(s.sum))
	for i := range s.sum {
		from := time.Duration(i) * s.width
		if long := min(end, from+s.width) - from; long > 0 {
			out[i] = s.sum[i] / long.Seconds()
		}
	}
	return out
}
