# Sums the flat times of `go tool pprof -top` by what the function belongs to. Prints one row of a
# table: the name, and the shares in per cent.
$2 !~ /%$/ || NF < 6 { next }
{ share[kind($6)] += $2 }
END {
	row = "| " name
	n = split("lock service engine checkers goroutines allocation other", kinds, " ")
	for (i = 1; i <= n; i++) row = row sprintf(" | %.0f", share[kinds[i]])
	print row " |"
}

function kind(f) {
	if (f ~ /interlock\/history/) return "checkers"
	if (f ~ /interlock\/(simzk|sim\/|internal\/run\/zookeeper)|miniredis|gopher-lua|modernc/)
		return "service"
	if (f ~ /interlock\/internal\/(run|search|base)/) return "engine"
	if (f ~ /interlock\/(lock|scenarios|cmd\/bundled)|redsync|go-redis|go-zookeeper|^database\/sql/)
		return "lock"
	if (f ~ /^runtime\..*([mM]alloc|gc[A-Z]|[sS]can|[sS]weep|mspan|mcache|mcentral|mheap|pageAlloc|[sS]panS|[sS]panClass|memclr|markroot|grey|heapBits|heapSetType|nextFree|newobject|[bB]arrier)/)
		return "allocation"
	if (f ~ /^(runtime\.(lock2|unlock2|park|go|cas|sel|chan|send|recv|schedule|findRun|execute|wake|ready|mcall|nanotime|step|runq|pidle|mPark|note|futex|usleep|procyield|syst|sudog|acquireS|releaseS|\(\*(waitq|synctest|timer|guintptr))|sync|internal\/(sync|runtime\/atomic|synctest))/)
		return "goroutines"
	return "other"
}
