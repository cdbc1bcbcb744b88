//go:build race

package demo

// The race detector makes a simulation twenty times slower and finds nothing in
// the figures.
const raceEnabled = true
