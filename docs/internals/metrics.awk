# Turns the output of go test -bench into one line a benchmark: its name, and its metrics but for
# those of allocation and a time of 0.
/^Benchmark/ {
	sub(/^Benchmark/, "", $1)
	sub(/-[0-9]+$/, "", $1)
	printf "%s", $1
	for (i = 3; i < NF; i += 2)
		if ($(i + 1) !~ /^(B|allocs)\/op$/ && $i != 0) printf " %s %s", $i, $(i + 1)
	print ""
}
