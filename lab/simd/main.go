// Command simd is the daemon on a simulated radio, in real time: the same loop
// and the same control socket as on a router, for whatever talks to it. It needs
// no hardware and no privilege, and writes nothing but its socket and a state
// directory.
//
//	simd -socket /tmp/a.sock -scenario crowd -spare 2
//
// Lines on its standard input change the room meanwhile, by a station's number
// in the scenario: "join N", "leave N", "rate N KBPS", "sleep N", "wake N",
// "crash", "remove", "return".
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/daemon"
	"airtuned/nl80211"
	"airtuned/radiosim"
	"airtuned/tuner"
)

func main() {
	var o options
	flag.StringVar(&o.socket, "socket", "airtuned.sock", "control socket")
	flag.StringVar(&o.scenario, "scenario", "four-fast", "scenario of airtuned demo")
	flag.IntVar(&o.spare, "spare", 0, "fast stations more, which join only when told")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	flag.BoolVar(&o.stock, "stock", false, "leave out what no mainline kernel exports")
	flag.StringVar(&o.config, "config", "", "configuration file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "simd:", err)
		os.Exit(1)
	}
}

type options struct {
	socket, scenario, config string
	spare                    int
	seed                     uint64
	stock                    bool
}

// step is how often the simulation catches up with the clock.
const step = 5 * time.Millisecond

func run(ctx context.Context, o options, commands io.Reader, log io.Writer) error {
	sc, err := radiosim.Lookup(o.scenario)
	if err != nil {
		return err
	}
	for range o.spare {
		sc.Stations = append(sc.Stations, radiosim.Station{RateKbps: 433300, Flows: 1, Join: math.MaxInt64})
	}
	state, err := os.MkdirTemp("", "simd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	if o.config == "" {
		o.config = filepath.Join(state, "airtuned.yaml")
		// Its sandbox is made for the files of a real system.
		if err := os.WriteFile(o.config, []byte("sandbox: false\n"), 0o600); err != nil {
			return err
		}
	}

	sim := radiosim.New(sc, radiosim.Options{Seed: o.seed, Stock: o.stock})
	net := netlink{sim}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan struct{}, 1)
	go advance(ctx, sim, changed)
	go obey(commands, sim, len(sc.Stations), log)
	return daemon.Run(ctx, daemon.Options{
		Env: tuner.Env{
			Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc(), Netlink: net,
			StateDir: state, Log: slog.New(slog.NewTextHandler(log, nil)),
		},
		Config: o.config, Socket: o.socket, Version: "simulated",
		Events: func(ctx context.Context) (<-chan nl80211.Event, error) { return events(ctx, changed), nil },
	})
}

// events says that stations came or went, until ctx ends.
func events(ctx context.Context, changed <-chan struct{}) <-chan nl80211.Event {
	out := make(chan nl80211.Event)
	go func() {
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			select {
			case <-ctx.Done():
				return
			case out <- nl80211.Event{Kind: nl80211.StationAdded, Wiphy: -1, IfIndex: radiosim.IfIndex}:
			}
		}
	}()
	return out
}

// advance has the simulation follow the clock, and says when stations come or go.
func advance(ctx context.Context, sim *radiosim.Sim, changed chan<- struct{}) {
	started := time.Now()
	tick := time.NewTicker(step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			sim.Advance(radiosim.Epoch.Add(time.Since(started)))
			if sim.StationsChanged() {
				select {
				case changed <- struct{}{}:
				default: // it is known
				}
			}
		}
	}
}

// obey does what the lines say, until they end.
func obey(lines io.Reader, sim *radiosim.Sim, stations int, log io.Writer) {
	in := bufio.NewScanner(lines)
	for in.Scan() {
		if err := do(strings.Fields(in.Text()), sim, stations); err != nil {
			fmt.Fprintln(log, "simd:", err)
		}
	}
}

var errCommand = errors.New("want join N, leave N, rate N KBPS, sleep N, wake N, crash, remove, or return")

func do(words []string, sim *radiosim.Sim, stations int) error {
	if len(words) == 0 {
		return nil
	}
	var args []int
	for _, w := range words[1:] {
		n, err := strconv.Atoi(w)
		if err != nil || n < 0 {
			return errCommand
		}
		args = append(args, n)
	}
	want := map[string]int{"join": 1, "leave": 1, "rate": 2, "sleep": 1, "wake": 1, "crash": 0, "remove": 0, "return": 0}
	if n, ok := want[words[0]]; !ok || n != len(args) {
		return errCommand
	}
	if len(args) > 0 && args[0] >= stations {
		return fmt.Errorf("there are stations 0 to %d", stations-1)
	}
	switch words[0] {
	case "join":
		sim.Join(args[0])
	case "leave":
		sim.Leave(args[0])
	case "rate":
		if args[1] == 0 {
			return errCommand
		}
		sim.SetRate(args[0], args[1])
	case "sleep":
		sim.Sleep(args[0], true)
	case "wake":
		sim.Sleep(args[0], false)
	case "crash":
		sim.Crash()
	case "remove":
		sim.RemoveRadio()
	case "return":
		sim.ReturnRadio()
	}
	return nil
}
