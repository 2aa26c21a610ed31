package scenarios

// HoldStacks does what a campaign does before it begins, for benchmarks of what a campaign does.
var HoldStacks = holdStacks
