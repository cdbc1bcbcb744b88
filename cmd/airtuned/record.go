package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"airtuned/daemon"
	"airtuned/daemon/control"
	"airtuned/recording"
)

func newRecord(a *app) *cobra.Command {
	var radio string
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "record FILE",
		Short: "Record what the daemon reads and decides",
		Long: `Record every reading and decision of the daemon's loops, for airtuned replay, until
Ctrl-C or for --duration. A reading that failed is in it with its error. It costs
each loop one window of 200 ms at the beginning and the end, and never waits; what
cannot be stored in time is counted. A minute of one radio takes some 200 kB, and
xz makes a fifth of that.

The file has the addresses of stations in it.`,
		Example: `  sudo airtuned record evening.rec
  sudo airtuned record evening.rec --duration 10m --radio phy0`,
		GroupID: groupTry,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef(seeHelp(cmd), "record wants one FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if duration < 0 {
				return usagef("", "duration %v is below zero", duration)
			}
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			return a.record(cmd.Context(), c, args[0], radio, duration)
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 0, "how much `TIME` to record (default until Ctrl-C)")
	cmd.Flags().StringVar(&radio, "radio", "", "only this `RADIO`: a path, phy, interface or chip")
	return cmd
}

func (a *app) record(ctx context.Context, c *control.Client, name, radio string, duration time.Duration) error {
	params := map[string]string{}
	if radio != "" {
		params["radio"] = radio
	}
	var started struct {
		Radios []daemon.Recorded `json:"radios"`
	}
	if err := c.Call(ctx, "record", params, &started); err != nil {
		return err
	}
	// Neither a named pipe that nobody reads, nor one whose reader is stuck, may be
	// waited for after Ctrl-C.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(recording.AppendHeader(nil)); err != nil {
		return err
	}
	if !a.json {
		for _, r := range started.Radios {
			fmt.Fprintf(a.stderr, "recording %s (%s)\n", r.Phy, r.Path)
		}
	}
	if duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, duration)
		defer cancel()
	}
	defer context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now().Add(time.Second)) })()
	start, size := time.Now(), int64(len(recording.AppendHeader(nil)))
	var buf []byte
	err = c.Notifications(ctx, "record", func(params json.RawMessage) error {
		var b daemon.RecordedBlock
		if err := json.Unmarshal(params, &b); err != nil {
			return fmt.Errorf("the daemon's recording is not understood: %w", err)
		}
		buf = recording.AppendBlock(buf[:0], b.Radio, b.Block)
		size += int64(len(buf))
		_, err := f.Write(buf)
		return err
	})
	elapsed := time.Since(start)
	if ctx.Err() != nil {
		err = nil // its end was asked for
	}
	if _, werr := f.Write(recording.AppendEnd(nil)); werr != nil && err == nil {
		err = werr
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case errors.Is(err, control.ErrUnreachable):
		return fmt.Errorf("the recording in %s ends early: %w", name, err)
	case err != nil:
		return err
	}
	if a.json {
		return a.emit(map[string]any{"file": name, "bytes": size + 1, "duration_s": elapsed.Round(time.Millisecond).Seconds(), "radios": started.Radios})
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %.1f s, %d bytes. Look at it with airtuned replay %s.\n", name, elapsed.Seconds(), size+1, name)
	return err
}
