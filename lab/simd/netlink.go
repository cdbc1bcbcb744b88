package main

import (
	"strconv"

	"airtuned/nl80211"
	"airtuned/radiosim"
	"airtuned/tree"
)

// netlink tells of a simulated radio what nl80211 tells of a real one.
type netlink struct{ sim *radiosim.Sim }

func (n netlink) Wiphys() ([]nl80211.Wiphy, error) {
	var out []nl80211.Wiphy
	phys, err := n.sim.Sys().List("class/ieee80211")
	for _, phy := range phys {
		text, err := tree.ReadString(n.sim.Sys(), "class/ieee80211/"+phy+"/index")
		if err != nil {
			return nil, err
		}
		index, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		out = append(out, nl80211.Wiphy{Index: index, Name: phy, AQL: true, AirtimeFairness: true, TXQS: true})
	}
	return out, err
}

func (n netlink) Interfaces() ([]nl80211.Interface, error) {
	wiphys, err := n.Wiphys()
	var out []nl80211.Interface
	for _, w := range wiphys {
		out = append(out, nl80211.Interface{Index: radiosim.IfIndex, Name: "wlan0", Wiphy: w.Index, Type: "AP"})
	}
	return out, err
}

func (n netlink) Stations(int) ([]nl80211.Station, error) {
	var out []nl80211.Station
	for _, l := range n.sim.Links() {
		out = append(out, nl80211.Station{MAC: l.MAC, IfIndex: radiosim.IfIndex, TxRateKbps: uint64(l.RateKbps)})
	}
	return out, nil
}

func (n netlink) Firmware(string) (string, error) { return "10.4-3.9.0.2-00131", nil }
