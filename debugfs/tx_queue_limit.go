package debugfs

import "fmt"

const txQueueLimit = "ath10k/tx_queue_limit"

func parseTxQueueLimit(b []byte, out *int) error {
	return parseOne(txQueueLimit, "a number of frames", b, out, parseCount)
}

// TxQueueLimit is how many frames may be in driver and firmware before data
// stays in mac80211; 0 is no limit. It is soft, and management frames are not
// held to it. Only patched kernels have the file; others answer ErrAbsent.
//
// Source: ath10k/tx_queue_limit (packaging/kernel, 0005).
func (p *Phy) TxQueueLimit() (int, error) {
	return readOnce(p, p.dir, txQueueLimit, parseTxQueueLimit)
}

// TxQueueLimitReader is TxQueueLimit for every window.
func (p *Phy) TxQueueLimitReader() *Reader[int] {
	return newReader(p, p.dir, txQueueLimit, parseTxQueueLimit)
}

// SetTxQueueLimit changes the limit. 0 is valid: no limit.
func (p *Phy) SetTxQueueLimit(frames int) error {
	if err := p.write(p.dir, txQueueLimit, fmt.Sprintf("%d\n", frames)); err != nil {
		return fmt.Errorf("set tx_queue_limit to %d: %w", frames, err)
	}
	return nil
}
