// Package radiosim is a Wi-Fi access point with its stations in memory, on
// virtual time. It serves the very kernel files that airtuned's loop reads and
// writes (a sys, a debugfs and a proc tree, each a tree.FS), so that the loop
// runs on it unchanged: in the demonstration, in tests of control, and while a
// policy is being developed.
//
// A packet goes the way it goes in Linux with ath10k:
//
//	wired sender -> fq_codel per station -> airtime scheduler, gated by AQL   (mac80211: fq.go, codel.go, sched.go, aql.go)
//	             -> driver with a fixed number of slots, which stops the queue (driver.go)
//	             -> firmware FIFO per peer -> A-MPDU on one shared medium     (air.go)
//	             -> station, whose TCP ACK contends for the same medium       (tcp.go)
//	             -> completion, seen when the host next looks                 (driver.go)
//
// What it leaves out: collisions, hidden nodes, rate control, power save,
// A-MSDU, multicast and bulk uplink. Losses on the air are off unless a
// scenario asks for them.
//
// Everything is a function of scenario, options and the writes made: it has no
// wall clock, its own seeded generator, and never ranges over a map.
package radiosim
