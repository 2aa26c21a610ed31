//go:build interlock_scheduler

// This file lets the compiler accept functions without bodies, which the runtime defines.
