package debugfs

import "fmt"

const txSkPacingShift = "tx_sk_pacing_shift"

func parseTxSkPacingShift(b []byte, out *int) error {
	return parseOne(txSkPacingShift, "0 to 31", b, out, func(b []byte) (int, bool) {
		v, ok := parseCount(b)
		return v, ok && v <= 31
	})
}

// TxSkPacingShift says how much a TCP socket of this host may queue below TCP:
// what its pacing rate sends in 2^-shift seconds. Only patched kernels have
// the file; others answer ErrAbsent, and have 7.
//
// Source: tx_sk_pacing_shift, of struct ieee80211_hw (packaging/kernel, 0006;
// net/mac80211/tx.c, ieee80211_subif_start_xmit).
func (p *Phy) TxSkPacingShift() (int, error) {
	return readOnce(p, p.dir, txSkPacingShift, parseTxSkPacingShift)
}

// SetTxSkPacingShift changes the shift, 0 to 31, from each socket's next frame on.
func (p *Phy) SetTxSkPacingShift(shift int) error {
	if err := p.write(p.dir, txSkPacingShift, fmt.Sprintf("%d\n", shift)); err != nil {
		return fmt.Errorf("set tx_sk_pacing_shift to %d: %w", shift, err)
	}
	return nil
}
