package debugfs

const aqlEnable = "aql_enable"

func parseAQLEnable(b []byte, out *bool) error {
	switch string(b) {
	case "0\n":
		*out = false
	case "1\n":
		*out = true
	default:
		return garbled(aqlEnable, "", "0 or 1", b)
	}
	return nil
}

// AQLEnable reports whether stations are held to their limits at all. The
// switch is one for all radios of the host, so there is no way here to set it.
// Kernels before 5.12 have none (ErrAbsent) and always hold.
//
// Source: aql_enable (net/mac80211/debugfs.c, aql_enable_read).
func (p *Phy) AQLEnable() (bool, error) {
	return readOnce(p, p.dir, aqlEnable, parseAQLEnable)
}
