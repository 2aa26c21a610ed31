package scenarios

import (
	"context"
	"time"
)

// progressEvery is how often a search reports its progress.
const progressEvery = 500 * time.Millisecond

// within returns a context that ends when the budget, if there is one, is spent.
func within(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget > 0 {
		return context.WithTimeout(ctx, budget)
	}
	return context.WithCancel(ctx)
}
