//go:build !linux

package nl80211

import (
	"context"
	"fmt"
	"runtime"
)

// Client asks the kernel about radios, which only Linux answers.
type Client struct{}

var errOS = fmt.Errorf("%w: not on %s", ErrUnavailable, runtime.GOOS)

// Dial fails with ErrUnavailable.
func Dial() (*Client, error) { return nil, errOS }

// New returns a client whose requests fail with ErrUnavailable.
func New() *Client { return new(Client) }

// Close does nothing.
func (*Client) Close() error { return nil }

// Wiphys fails with ErrUnavailable.
func (*Client) Wiphys() ([]Wiphy, error) { return nil, errOS }

// Interfaces fails with ErrUnavailable.
func (*Client) Interfaces() ([]Interface, error) { return nil, errOS }

// Stations fails with ErrUnavailable.
func (*Client) Stations(ifindex int) ([]Station, error) { return nil, errOS }

// Firmware fails with ErrUnavailable.
func (*Client) Firmware(ifname string) (string, error) { return "", errOS }

// Events fails with ErrUnavailable.
func (*Client) Events(ctx context.Context) (<-chan Event, error) { return nil, errOS }
