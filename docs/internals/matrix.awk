# Turns the output of BenchmarkNAME/row/column into a table of schedules. Where the benchmark reports
# how many of 20 seeds found something, an asterisk marks fewer; where it reports a published figure,
# that one follows after a slash.
/ schedules/ {
	split($1, name, "/")
	sub(/-[0-9]+$/, "", name[3])
	if (!(name[2] in row)) row[name[2]] = ++rows
	if (!(name[3] in column)) column[name[3]] = ++columns
	label[row[name[2]]] = name[2]
	title[column[name[3]]] = name[3]
	for (i = 3; i < NF; i += 2) metric[$(i + 1)] = $i + 0
	text = metric["schedules"]
	if ("found" in metric && metric["found"] < 20) text = text "*"
	if ("published" in metric) text = text "/" (metric["published"] ? metric["published"] : "-")
	cell[row[name[2]], column[name[3]]] = text
}
END {
	printf "schedules"
	for (j = 1; j <= columns; j++) printf " %s", title[j]
	for (i = 1; i <= rows; i++) {
		printf "\n%s", label[i]
		for (j = 1; j <= columns; j++) printf " %s", cell[i, j]
	}
	print ""
}
