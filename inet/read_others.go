//go:build !linux

package inet

// Read fails with ErrUnavailable.
func (*Snapshot) Read() error { return ErrUnavailable }
