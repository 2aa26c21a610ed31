package strategy

// In a round-robin the strategies take turns, because no strategy is the best on all bugs, and
// which one is best is not known in advance. A portfolio gives more turns to strategies that show
// new behaviour; see [Rounds]. Here the turn depends only on the number of the schedule, so that
// several machines can run the schedules of one campaign.

// RoundRobin returns the name of the strategy whose turn it is in the schedule of that number.
func RoundRobin(schedule int) string { return portfolio[schedule%len(portfolio)] }
