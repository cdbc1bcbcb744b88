package main

import (
	"context"
	"errors"
	"fmt"

	"airtuned/daemon/control"
)

// askForChanges lets the daemon do what it keeps this process from doing.
// locked is the error that says so: it stands if no daemon answers. next is the
// step to take after it.
func (a *app) askForChanges(ctx context.Context, locked error, method string, params map[string]any, next string) error {
	for k, v := range params {
		if v == "" {
			delete(params, k)
		}
	}
	c, err := control.Dial(a.socket)
	if errors.Is(err, control.ErrUnreachable) {
		return fmt.Errorf("%w, and nothing answers at %s", locked, a.socket)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	var doc changes
	if err := c.Call(ctx, method, params, &doc); err != nil {
		return err
	}
	return a.finishChanges(doc.Changes, nil, next)
}
