// SPDX-License-Identifier: Apache-2.0

//go:build race

package main

// The race detector allocates where the loop does not.
const raceEnabled = true
