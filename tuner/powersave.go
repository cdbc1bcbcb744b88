package tuner

import (
	"bytes"

	"airtuned/tree"
)

// powersave tells whether a station sleeps, as far as the kernel says. mac80211
// does where it keeps the frames itself (the flag PS_STA in stations/*/flags,
// net/mac80211/debugfs_sta.c, sta_flags_read). ath10k's firmware keeps them:
// there stations/*/peer_ps_state is 1, where somebody switched ps_state_enable
// on, else 2, for unknown (ath10k/debugfs_sta.c,
// ath10k_dbg_sta_read_peer_ps_state).
//
// Its files are opened when a station gets nothing although something is there
// for it, which is seldom.
type powersave struct {
	opened       bool
	flags, state tree.File // nil where there is none
}

func (p *powersave) close() {
	for _, f := range []tree.File{p.flags, p.state} {
		if f != nil {
			f.Close()
		}
	}
	*p = powersave{}
}

// text is what a file says; nothing if it is not there, or no longer.
func text(f tree.File, buf []byte) []byte {
	if f == nil {
		return nil
	}
	n, err := f.ReadFresh(buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// asleep reports whether a station is known to sleep.
func (s *senses) asleep(st *station) bool {
	p := &st.powersave
	if !p.opened {
		dir := "ieee80211/" + s.phy.Name() + "/netdev:" + st.netdev + "/stations/" + st.mac.String()
		p.flags, _ = s.debug.Open(dir + "/flags")
		p.state, _ = s.debug.Open(dir + "/peer_ps_state")
		p.opened = true
	}
	return bytes.Contains(text(p.flags, s.text[:]), []byte("PS_STA\n")) ||
		bytes.Equal(text(p.state, s.text[:]), []byte("1\n"))
}
