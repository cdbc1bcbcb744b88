package sysfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const interruptsText = `           CPU0       CPU1       
 38:          0      27165 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 44:    1203345          0   PCI-MSI 524288-edge      ath10k_pci
 45:     120334         12   PCI-MSI 1048576-edge      ath10k_pci
 46:          1          0   IO-APIC  16-fasteoi   uhci_hcd:usb1, ath10k_pci
 56:     934120          0     GIC-0 200 Edge      ath10k_ahb
 87:       1201        340     GICv3 446 Level     WLAN_CE_0
 88:     904321     120034     GICv3 447 Level     WLAN_CE_1
NMI:          0          0   Non-maskable interrupts
ERR:          7
`

func TestParseInterrupts(t *testing.T) {
	got, err := ParseInterrupts(interruptsText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1}, got.CPUs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Rows) != 9 {
		t.Errorf("%d rows", len(got.Rows))
	}
	want := []CPURow{
		{"88", []uint64{904321, 120034}, "GICv3 447 Level     WLAN_CE_1"},
		{"NMI", []uint64{0, 0}, "Non-maskable interrupts"},
		{"ERR", []uint64{7}, ""},
	}
	for _, w := range want {
		if diff := cmp.Diff(&w, got.Row(w.Label)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.Label, diff)
		}
	}
	if r := got.Row("47"); r != nil {
		t.Errorf("got %+v", r)
	}
	for handler, labels := range map[string][]string{
		"ath10k_pci": {"44", "45", "46"}, "ath10k_ahb": {"56"}, "WLAN_CE_1": {"88"}, "WLAN_CE": nil, "uhci_hcd:usb1": {"46"},
	} {
		var have []string
		for _, r := range got.Rows {
			if r.Handler(handler) {
				have = append(have, r.Label)
			}
		}
		if diff := cmp.Diff(labels, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", handler, diff)
		}
	}
	for _, s := range []string{"", "\n", " 44: 1\n", "CPU0 44\n", "CPU99999\n"} {
		if got, err := ParseInterrupts(s); err == nil {
			t.Errorf("%q: got %+v", s, got)
		}
	}
}

const softirqsText = `                    CPU0       CPU1       
          HI:          0          0
       TIMER:     631475     759313
      NET_TX:          4          1
      NET_RX:      22683      26919
       BLOCK:          0    3204700
    IRQ_POLL:          0          0
     TASKLET:       1673         21
       SCHED:    1186980    1197444
     HRTIMER:          0          0
         RCU:    2259674    2396167
`

func TestParseSoftIRQs(t *testing.T) {
	got, err := ParseSoftIRQs(softirqsText)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&CPURow{"NET_RX", []uint64{22683, 26919}, ""}, got.Row("NET_RX")); diff != "" || len(got.Rows) != 10 {
		t.Errorf("%d rows (-want +got):\n%s", len(got.Rows), diff)
	}
}

func FuzzCPUTable(f *testing.F) {
	f.Add(interruptsText)
	f.Add(softirqsText)
	f.Add("CPU0\n: 1\nx:\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) (CPUTable, error){ParseInterrupts, ParseSoftIRQs} {
			got, err := parse(s)
			if err != nil {
				continue
			}
			for _, r := range got.Rows {
				if len(r.Counts) > len(got.CPUs) {
					t.Errorf("more counts than CPUs in %+v", r)
				}
			}
		}
	})
}
