package compare

import "slices"

// percentile is the value of nearest rank, of at least one.
func percentile(values []int64, percent int) int64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[(len(sorted)*percent+99)/100-1]
}

// median is the middle, rounded down.
func median(values []int64) int64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) >> 1
}

// signedRank is Wilcoxon's test of paired differences: the probability, of two
// sides, of a sum of signed ranks this far out when a coin decides each sign. It
// is exact, with ties as well: they have their mean rank, and zeros have none.
func signedRank(differences []int64) float64 {
	var sizes []int64
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, max(d, -d))
		}
	}
	slices.Sort(sizes)
	// Ranks times two, which are whole numbers.
	var ranks []int
	for _, s := range sizes {
		first, _ := slices.BinarySearch(sizes, s)
		next, _ := slices.BinarySearch(sizes, s+1)
		ranks = append(ranks, first+1+next)
	}
	positive := 0
	for _, d := range differences {
		if i, found := slices.BinarySearch(sizes, d); found {
			positive += ranks[i]
		}
	}
	sums := rankSums(ranks)
	p := 0.0
	for _, s := range sums[max(positive, len(sums)-1-positive):] {
		p += 2 * s
	}
	return min(p, 1)
}

// rankSums is the probability of each sum of ranks when a coin decides whether a
// rank is in it.
func rankSums(ranks []int) []float64 {
	sums := []float64{1}
	for _, r := range ranks {
		n := len(sums)
		sums = append(sums, make([]float64, r)...)
		for s := n - 1; s >= 0; s-- {
			sums[s] /= 2
			sums[s+r] += sums[s]
		}
	}
	return sums
}

// hodgesLehmann estimates by how much paired values differ: the median of the
// means of any two of the differences, and the interval of all shifts that the
// signed-rank test does not reject at a level. ok is false if there are too few
// for any.
func hodgesLehmann(differences []int64, level float64) (shift, low, high int64, ok bool) {
	var ranks []int
	var walsh []int64
	for i, d := range differences {
		ranks = append(ranks, i+1)
		for _, e := range differences[i:] {
			walsh = append(walsh, (d+e)>>1)
		}
	}
	slices.Sort(walsh)
	sums := rankSums(ranks)
	outside := 0
	for tail := 2 * sums[0]; tail <= level; tail += 2 * sums[outside] {
		outside++
	}
	if outside > 0 {
		low, high, ok = walsh[outside-1], walsh[len(walsh)-outside], true
	}
	return median(walsh), low, high, ok
}
