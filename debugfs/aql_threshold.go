package debugfs

import "fmt"

const aqlThreshold = "aql_threshold"

func parseAQLThreshold(b []byte, out *uint32) error {
	return parseOne(aqlThreshold, number, b, out, parseU32)
}

// AQLThreshold is the airtime in microseconds that the whole radio may have in
// flight before the low limit alone counts. A low limit that equals the high
// one makes it irrelevant.
//
// Source: aql_threshold (net/mac80211/debugfs.c, debugfs_hw_add).
func (p *Phy) AQLThreshold() (uint32, error) {
	return readOnce(p, p.dir, aqlThreshold, parseAQLThreshold)
}

// SetAQLThreshold changes the threshold. 0 is valid: only low limits count.
func (p *Phy) SetAQLThreshold(us uint32) error {
	if err := p.write(p.dir, aqlThreshold, fmt.Sprintf("%d\n", us)); err != nil {
		return fmt.Errorf("set AQL threshold to %d: %w", us, err)
	}
	return nil
}
