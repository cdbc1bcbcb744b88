// SPDX-License-Identifier: Apache-2.0

// Package bench runs scenarios: each in a machine of its own.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"airtuned/lab/scenario"
	"airtuned/lab/uml"
)

// Bench is what all runs share.
type Bench struct {
	// Kernel is the file of the kernel.
	Kernel string
	// Programs is a folder that Build has filled.
	Programs string
	// RealTime bounds a run.
	RealTime time.Duration
	// Keep, if set, is a folder in which what a run left behind is kept, in a
	// folder named after the scenario.
	Keep string
}

// Build makes what the machines need, in a folder.
func Build(dir string) error {
	for program, pkg := range map[string]string{"guest": "airtuned/lab/guest", "airtuned": "airtuned/cmd/airtuned"} {
		if err := uml.Build(filepath.Join(dir, program), "build", "-trimpath", "-buildvcs=false", pkg); err != nil {
			return err
		}
	}
	root, err := uml.Root()
	if err != nil {
		return err
	}
	for folder, kind := range map[string][]string{"plain": nil, "flow-control": {"flow-control"}} {
		args := append([]string{filepath.Join(dir, "firmware", folder)}, kind...)
		cmd := exec.Command(filepath.Join(root, "lab/target/firmware.sh"), args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", cmd, err, out)
		}
	}
	return nil
}

// Run runs a scenario and returns its document. If the machine comes to no
// document, the error has what it said.
func (b *Bench) Run(ctx context.Context, s scenario.Scenario) ([]byte, error) {
	dir, err := os.MkdirTemp("", "airtuned-lab-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, program := range []string{"guest", "airtuned"} {
		if err := uml.Place(filepath.Join(b.Programs, program), dir); err != nil {
			return nil, err
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "firmware"), os.DirFS(filepath.Join(b.Programs, "firmware"))); err != nil {
		return nil, err
	}
	plan, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "scenario.json"), plan, 0o644); err != nil {
		return nil, err
	}

	hwsim := 0
	if s.Radio == scenario.Hwsim {
		hwsim = 1 + len(s.Expand())
	}
	params := append([]string{
		"mac80211_hwsim.radios=" + strconv.Itoa(hwsim),
		"ath10k_emu.seed=" + strconv.FormatUint(s.Seed, 10),
	}, s.Params...)
	end, err := uml.Machine{
		Kernel: b.Kernel, Dir: dir, Init: "guest", Params: params,
		Memory: "1G", Seed: s.Seed, RealTime: b.RealTime,
	}.Run(ctx)
	if err != nil {
		return nil, err
	}
	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if b.Keep != "" {
		if err := keep(dir, filepath.Join(b.Keep, s.Name), end); err != nil {
			return nil, err
		}
	}
	doc, err := os.ReadFile(filepath.Join(dir, "document.json"))
	if err != nil || !end.OK {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("scenario %s came to no end; the kernel %s.\n--- output\n%s--- console\n%s", s.Name, end.How, output, end.Console)
	}
	return doc, nil
}

// keep copies what a run left behind, but for the programs.
func keep(from, to string, end uml.End) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"scenario.json", "document.json", "output", "hostapd.log", "iperf.log", "airtuned.log"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(to, "console"), end.Console, 0o644)
}
