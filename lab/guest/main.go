// SPDX-License-Identifier: Apache-2.0

// Guest is process 1 of a machine that runs one scenario: it sets up an access
// point, stations in network namespaces and a server behind a wide area
// network, makes traffic, measures, writes the document and powers off.
//
// It shares its folder with the host: there it finds scenario.json, airtuned
// and the firmware, and there it leaves document.json and logs. Everything
// sleeps by timers: a process that spins would stop the virtual clock.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"airtuned/lab/pid1"
	"airtuned/lab/scenario"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: runs inside the lab only, see lab/README.md")
		os.Exit(2)
	}
	if err := pid1.Boot(); err != nil {
		fmt.Println("guest: boot:", err)
	} else if err := run(); err != nil {
		fmt.Println("guest:", err)
	}
	if err := pid1.PowerOff(); err != nil {
		fmt.Println("guest:", err)
	}
}

func run() error {
	var s scenario.Scenario
	b, err := os.ReadFile(pid1.Shared + "/scenario.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("scenario.json: %w", err)
	}
	n, err := setUp(&s)
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	defer n.close()
	doc, err := n.measure()
	if err != nil {
		return err
	}
	out, err := doc.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(pid1.Shared+"/document.json", out, 0o644)
}
