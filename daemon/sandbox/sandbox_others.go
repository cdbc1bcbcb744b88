//go:build !linux

package sandbox

import "errors"

// Enter is for Linux only.
func Enter(Files) error { return errors.ErrUnsupported }
