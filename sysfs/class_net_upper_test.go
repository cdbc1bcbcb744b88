package sysfs

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUppers(t *testing.T) {
	sys := build(t, map[string]string{
		"class/net/wlan0/upper_br-lan/type": "1\n",
		"class/net/wlan0/upper_wlan0.3/x":   "",
		"class/net/wlan0/upper_/x":          "",
		"class/net/wlan0/type":              "1\n",
		"class/net/br-lan/lower_eth0/x":     "",
		"class/net/br-lan/lower_wlan0/x":    "",
		"class/net/br-lan/upper_br-lan.1/x": "",
	})
	uppers, err := Uppers(sys, "wlan0")
	if diff := cmp.Diff([]string{"br-lan", "wlan0.3"}, uppers); diff != "" || err != nil {
		t.Errorf("above wlan0: %v (-want +got):\n%s", err, diff)
	}
	lowers, err := Lowers(sys, "br-lan")
	if diff := cmp.Diff([]string{"eth0", "wlan0"}, lowers); diff != "" || err != nil {
		t.Errorf("below br-lan: %v (-want +got):\n%s", err, diff)
	}
	if _, err := Uppers(sys, "gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("above a netdev that is gone: %v", err)
	}
	if _, err := Uppers(sys, "../wlan0"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("above a bad name: %v", err)
	}
}
