package main

import (
	"context"

	"github.com/spf13/cobra"

	"airtuned/daemon/control"
	"airtuned/metrics"
)

func newMetrics(a *app) *cobra.Command {
	var o metrics.Options
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print the daemon's status as Prometheus metrics",
		Long: `Print the daemon's status as Prometheus text, for the textfile collector of
node_exporter. When no daemon answers it prints airtuned_up 0 and exits 5.
To be scraped over HTTP, run airtuned-web.`,
		Example: `  airtuned metrics
  airtuned metrics --stations`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.askMetrics(cmd.Context())
			switch text := metrics.Append(nil, s, o); {
			case !a.json:
				_, werr := a.stdout.Write(text)
				if err == nil {
					err = werr
				}
			case err == nil:
				err = a.emit(map[string]string{"metrics": string(text)})
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&o.Stations, "stations", false, "add metrics of each station, with its address as a label")
	return cmd
}

// askMetrics asks the daemon for its status; nil if there is none.
func (a *app) askMetrics(ctx context.Context) (*metrics.Status, error) {
	c, err := control.Dial(a.socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := new(metrics.Status)
	if err := c.Call(ctx, "status", nil, s); err != nil {
		return nil, err
	}
	return s, nil
}
