package radiosim

import (
	"fmt"
	"strings"
	"time"
)

// Scenario is a radio, its stations and what happens to them: data only.
type Scenario struct {
	Name        string
	Description string
	// Duration is how long a run should last, after WarmUp.
	Duration time.Duration
	// WarmUp is how long TCP takes to find its place; not to be judged.
	WarmUp time.Duration
	// ServiceInterval is how often the host looks at its transmit completions;
	// 0 means at once.
	ServiceInterval time.Duration
	// RTT is the round trip of the TCP flows on the wire, without the radio.
	RTT time.Duration
	// PingEvery is the mean interval of the pings to each station.
	PingEvery time.Duration
	Stations  []Station
}

// Station is one station of a scenario.
type Station struct {
	// RateKbps is the PHY rate, both ways.
	RateKbps int
	// Legacy stations (802.11a/g) do not aggregate.
	Legacy bool
	// Flows is the number of bulk TCP flows to it.
	Flows int
	// AppKbps adds a TCP flow whose application writes at this rate.
	AppKbps int
	// Loss is the probability that an MPDU must be sent again.
	Loss float64
	// Join and Leave are when it comes and goes; a Leave of 0 is never.
	Join, Leave time.Duration
	// Rates change its rate over time, in order.
	Rates []RateChange
}

// RateChange is a new PHY rate from a time on.
type RateChange struct {
	At       time.Duration
	RateKbps int
}

const (
	vht80x2 = 866700 // VHT80, two streams, MCS 9, short guard interval
	ht20mcs = 6500   // HT20, MCS 0
)

// Scenarios lists what there is, in a fixed order.
func Scenarios() []Scenario {
	return []Scenario{
		scenario("one-fast", "one station at 866.7 Mb/s, four downloads", 20*time.Second,
			stations(1, Station{RateKbps: vht80x2, Flows: 4})),
		scenario("four-fast", "four stations at 866.7 Mb/s, two downloads each", 20*time.Second,
			stations(4, Station{RateKbps: vht80x2, Flows: 2})),
		scenario("one-slow", "one station at 6.5 Mb/s, four downloads", 40*time.Second,
			stations(1, Station{RateKbps: ht20mcs, Flows: 4})),
		scenario("fast-and-slow", "three stations at 866.7 Mb/s and one at 6.5 Mb/s", 20*time.Second,
			stations(3, Station{RateKbps: vht80x2, Flows: 2}),
			stations(1, Station{RateKbps: ht20mcs, Flows: 2})),
		scenario("crowd", "thirty stations at rates from 13 to 866.7 Mb/s", 20*time.Second, crowd()),
		slowHost(scenario("slow-host", "one-fast with a host that sees completions only every 3 ms", 20*time.Second,
			stations(1, Station{RateKbps: vht80x2, Flows: 4}))),
		scenario("rate-drop", "one station at 866.7 Mb/s which falls to 6.5 Mb/s for a while, twice", 40*time.Second,
			stations(1, Station{RateKbps: vht80x2, Flows: 4, Rates: []RateChange{
				{15 * time.Second, ht20mcs}, {25 * time.Second, vht80x2},
				{35 * time.Second, ht20mcs}, {40 * time.Second, vht80x2},
			}})),
		scenario("join-leave", "one station, then one more every 1.2 s up to sixteen, then back to one", 40*time.Second, joinLeave()),
	}
}

// Lookup finds a scenario; the error of an unknown name lists those there are.
func Lookup(name string) (Scenario, error) {
	var names []string
	for _, sc := range Scenarios() {
		if sc.Name == name {
			return sc, nil
		}
		names = append(names, sc.Name)
	}
	return Scenario{}, fmt.Errorf("no scenario %q: there are %s", name, strings.Join(names, ", "))
}

func scenario(name, description string, d time.Duration, groups ...[]Station) Scenario {
	sc := Scenario{
		Name: name, Description: description, Duration: d,
		WarmUp: 5 * time.Second, RTT: 20 * time.Millisecond, PingEvery: 50 * time.Millisecond,
	}
	for _, g := range groups {
		sc.Stations = append(sc.Stations, g...)
	}
	if len(sc.Stations) > 4 {
		sc.PingEvery = 100 * time.Millisecond
	}
	return sc
}

func stations(n int, st Station) []Station {
	all := make([]Station, n)
	for i := range all {
		all[i] = st
	}
	return all
}

func slowHost(sc Scenario) Scenario {
	sc.ServiceInterval = 3 * time.Millisecond
	return sc
}

func crowd() []Station {
	var all []Station
	for _, kbps := range []int{vht80x2, 585000, 433300, 195000, 65000, 13000} {
		all = append(all, stations(5, Station{RateKbps: kbps, Flows: 1})...)
	}
	return all
}

func joinLeave() []Station {
	all := stations(1, Station{RateKbps: vht80x2, Flows: 2})
	for i := range 15 {
		st := Station{
			RateKbps: []int{vht80x2, 433300, 195000}[i%3], Flows: 1,
			Join: time.Duration(6000+1200*i) * time.Millisecond,
		}
		st.Leave = 30*time.Second + time.Duration(800*i)*time.Millisecond
		all = append(all, st)
	}
	return all
}
