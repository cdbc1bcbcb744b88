// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"testing"

	"airtuned/debugfs"
	"airtuned/tree"
	"airtuned/wlan"
)

// TestEmulatedFiles has package debugfs read the kernel's own files under load,
// in the format that this kernel has.
func TestEmulatedFiles(t *testing.T) {
	cell(t, 1, "")
	flood(t, 10)
	phy := debugfs.NewPhy(tree.Dir("/sys/kernel/debug"), "phy0")

	macs, err := phy.Stations("wlan0")
	if err != nil || len(macs) != 1 {
		t.Fatalf("stations %v, %v, want one", macs, err)
	}
	mac := macs[0]

	if aqm, err := phy.AQM(); err != nil || aqm.Flows != 4096 || aqm.BacklogPackets == 0 || aqm.Has&debugfs.AQMMemoryUsage == 0 || aqm.MemoryUsageBytes == 0 {
		t.Errorf("aqm: %+v, %v, want 4096 flows and a backlog", aqm, err)
	}
	if pending, err := phy.AQLPending(); err != nil || pending.ACUs[wlan.BE] <= 0 || pending.TotalUs < pending.ACUs[wlan.BE] {
		t.Errorf("aql_pending: %+v, %v, want some of best effort", pending, err)
	}
	if aql, err := phy.StationAQL("wlan0", mac); err != nil || aql.PendingUs[wlan.BE] <= 0 ||
		aql.Limits[wlan.BE] != (wlan.Limit{LowUs: 5000, HighUs: 12000}) {
		t.Errorf("the station's aql: %+v, %v, want some of best effort pending, and the limits of the kernel", aql, err)
	}
	airtime, err := phy.StationAirtime("wlan0", mac)
	if err != nil || airtime.TXUs == 0 || airtime.Weight != 256 || !airtime.HasDeficit {
		t.Errorf("the station's airtime: %+v, %v, want some, a weight of 256, and the deficits", airtime, err)
	}
	if flags, err := phy.AirtimeFlags(); err != nil || flags != debugfs.AirtimeTX|debugfs.AirtimeRX {
		t.Errorf("airtime_flags: %v, %v, want both directions", flags, err)
	}
	aqm, err := phy.StationAQM("wlan0", mac)
	if be := aqm.TID[0]; err != nil || !aqm.HasTID[0] || be.AC != wlan.BE || be.BacklogPackets == 0 || be.TxPackets == 0 || be.TxBytes < be.TxPackets {
		t.Errorf("the station's aqm: %+v, %v, want a backlog and frames sent of TID 0", aqm, err)
	}
	// 6.16 dropped CoDel's parameters per station, and so did 6.12's stable releases.
	if want := !since(t, 6, 12); aqm.HasCoDel != want {
		t.Errorf("the station's aqm has CoDel's parameters: %v, want %v", aqm.HasCoDel, want)
	}
	if used, err := phy.HWQueues("wlan0"); err != nil || used.AC[wlan.BE] == debugfs.NoQueue || used.Cab == debugfs.NoQueue {
		t.Errorf("hw_queues: %+v, %v, want queues for best effort and broadcast", used, err)
	} else if queues, err := phy.Queues(); err != nil || queues.N <= used.AC[wlan.BE] {
		t.Errorf("queues: %d of them, %v, want more than %d", queues.N, err, used.AC[wlan.BE])
	}
}
