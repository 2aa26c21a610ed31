package report

import (
	"context"
	"time"
)

// ProgressInterval is how often a search reports its progress.
const ProgressInterval = 500 * time.Millisecond

// WithBudget returns a context that ends when the budget, if there is one, is spent.
func WithBudget(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget > 0 {
		return context.WithTimeout(ctx, budget)
	}
	return context.WithCancel(ctx)
}
