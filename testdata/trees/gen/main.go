// Command gen writes the fixture trees anew. Run it in the repository's root:
//
//	go run ./testdata/trees/gen
package main

import (
	"fmt"
	"os"

	"airtuned/testdata/trees"
)

func main() {
	if err := trees.WriteAll("testdata/trees"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
