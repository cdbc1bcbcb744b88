package tuner

import (
	"slices"
	"time"

	"airtuned/policies"
	"airtuned/wlan"
)

// keepWindows is how many windows a radio's history has: five minutes.
const keepWindows = 1500

// past is a window as it is remembered.
type past struct {
	at                         int64 // ms since 1970
	pendingUs, pendingMaxUs    int32
	frames, backlog            int32
	packets, bytes, drops      uint32
	low, high                  uint32 // in force for best effort, us
	active, stations, windowMs uint16
	stopped, state             uint8
}

// history are the latest windows, in a ring.
type history struct {
	ring [keepWindows]past
	n    int
}

// states in the order of their numbers in a history.
var states = []State{Tuning, Observing, Held, Restored, Gone}

// note takes in a window, with the state that came of it.
func (h *history) note(o *policies.Observation, s State) {
	be := o.Limits.AC[wlan.BE]
	p := &h.ring[h.n%keepWindows]
	*p = past{
		at:        o.Now.UnixMilli(),
		pendingUs: int32(o.Pending.Mean), pendingMaxUs: int32(o.Pending.Max),
		frames: int32(o.Frames.Mean), backlog: int32(o.Backlog.Mean),
		packets: uint32(o.TxPackets), bytes: uint32(o.TxBytes),
		low: be.LowUs, high: be.HighUs,
		active: uint16(o.Active()), stations: uint16(len(o.Stations)),
		windowMs: uint16(min(o.Window.Milliseconds(), 1<<16-1)),
		stopped:  uint8(o.Stopped * 100), state: uint8(slices.Index(states, s)),
	}
	for i := range o.Stations {
		p.drops += uint32(o.Stations[i].Drops)
	}
	h.n++
}

// Past is what the windows of the last minutes looked like. Its JSON form is a
// contract: columns are found by their names.
type Past struct {
	Path    string    `json:"path"`
	Columns []string  `json:"columns"`
	Windows [][]int64 `json:"windows"`
}

var pastColumns = []string{
	"ms_ago", "window_ms", "state", "low_us", "high_us", "pending_us", "pending_max_us", "frames", "backlog",
	"stopped_pct", "tx_packets", "tx_bytes", "drops", "active", "stations",
}

// History returns the windows of the last minutes, the oldest first. State is a
// number: 0 tuning, 1 observing, 2 held, 3 restored.
func (t *Tuner) History(now time.Time) Past {
	h := &t.past
	n := min(h.n, keepWindows)
	out := Past{t.radio.Path, pastColumns, make([][]int64, 0, n)}
	for i := h.n - n; i < h.n; i++ {
		p := &h.ring[i%keepWindows]
		out.Windows = append(out.Windows, []int64{
			now.UnixMilli() - p.at, int64(p.windowMs), int64(p.state), int64(p.low), int64(p.high),
			int64(p.pendingUs), int64(p.pendingMaxUs), int64(p.frames), int64(p.backlog), int64(p.stopped),
			int64(p.packets), int64(p.bytes), int64(p.drops), int64(p.active), int64(p.stations),
		})
	}
	return out
}
