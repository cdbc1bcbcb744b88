package policies

import "math"

const (
	// evidenceMemory is how many trials of a step are remembered, evidenceLeast
	// how many make it count, unless one differs by evidenceClear errors.
	evidenceMemory = 6
	evidenceLeast  = 3
	evidenceClear  = 4
	// downErrors and upErrors are how sure a move must be, in standard errors:
	// a step too much costs latency a little, one too few throughput.
	downErrors = 1.0
	upErrors   = 0.6
	// evidenceBoth trials of either step make their mean count, evidenceRest let
	// L rest if they do not speak for a move, evidenceDoubt if they do.
	evidenceBoth  = 2
	evidenceRest  = 2
	evidenceDoubt = 4
	// L goes down below cheapPart of what a step may cost and up above dearPart
	// of it, and stays in between.
	cheapPart = 0.8
	dearPart  = 1.3
	// noiseFirst is the standard deviation of a difference of ln E to begin
	// with, noiseMemory the number of trials its variance is averaged over.
	noiseFirst  = 0.0075
	noiseMemory = 12
	noiseMost   = 2.5
)

// evidence is what trials of one step have shown: a mean of differences of
// ln E.
type evidence struct {
	mean float64
	n    float64
}

func (e *evidence) add(x float64) {
	e.n = min(e.n+1, evidenceMemory)
	e.mean += (x - e.mean) / e.n
}

// enough tells whether there is enough evidence to leave L where it is: more is
// needed if it speaks for a move, though not clearly.
func (e *evidence) enough(forMove bool) bool {
	return e.n >= evidenceDoubt || e.n >= evidenceRest && !forMove
}

// old is what evidence counts for when L has moved.
func (e *evidence) old() evidence { return evidence{e.mean, min(e.n, 1)} }

// noise is the variance of a single difference of ln E.
type noise struct{ variance float64 }

func (v *noise) learn(residual float64) {
	r := min(residual*residual, 9*v.variance)
	v.variance += (r - v.variance) / noiseMemory
}

// excess is how much longer than usual one has to measure for the usual error.
func (v *noise) excess() float64 { return min(v.variance/(noiseFirst*noiseFirst), noiseMost) }

// of is the standard error of a mean.
func (v *noise) of(e *evidence) float64 { return math.Sqrt(v.variance / e.n) }
