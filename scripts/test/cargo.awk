# SPDX-License-Identifier: GPL-2.0-only
# Reads `cargo test -- --show-output` and prints one line a test, as count.sh wants it.
# A test that passes but prints `skipped: REASON` is skipped; lines `result: TEXT` of one that passes
# are shown below it. Results of one program are held
# back until it ends, because what a test printed comes after its result.

function flush_program(ended,    i, name) {
	for (i = 1; i <= tests; i++) {
		name = order[i]
		if (result[name] == "ok" && name in reason)
			print "skipped " unit " " name ": " reason[name]
		else if (result[name] == "ok")
			print "ok " unit " " name found[name]
		else if (result[name] ~ /^ignored/)
			print "skipped " unit " " name ": " (result[name] == "ignored" ? "ignored without a reason" : substr(result[name], 10))
		else {
			print "FAILED " unit " " name ":" said[name]
			print "replay cargo test --release --locked -- --exact " name
		}
	}
	if (unit != "" && !ended)
		print "FAILED " unit ": ended without a result (above)"
	tests = 0
	unit = ""
	split("", result); split("", reason); split("", said); split("", found)
	fflush()
}

/^ +Running .*\(.*-[0-9a-f]+\)$/ {
	flush_program(unit == "")
	unit = $0
	sub(/.*\//, "", unit)
	sub(/-[0-9a-f]+\)$/, "", unit)
	next
}
/^ +Doc-tests / {
	flush_program(unit == "")
	unit = $2
	next
}
/^test .* has been running for over / { next }
/^test result: / { flush_program(1); current = ""; next }
/^test .* \.\.\. / {
	name = substr($0, 6)
	sub(/ \.\.\. .*/, "", name)
	sub(/ - should panic$/, "", name)
	order[++tests] = name
	result[name] = $0
	sub(/^.* \.\.\. /, "", result[name])
	next
}
/^---- .* stdout ----$/ { current = $2; next }
/^(successes|failures):$/ { current = ""; next }
current != "" {
	if ($0 ~ /^skipped: /)
		reason[current] = substr($0, 10)
	else if ($0 ~ /^result: / && result[current] == "ok")
		found[current] = found[current] "\n    " substr($0, 9)
	else if ($0 != "" && result[current] == "FAILED" && $0 !~ /^note: run with/)
		said[current] = said[current] " " $0
	next
}
/^ +(Compiling|Finished) / { next }
/^(running [0-9]+ tests?|    [^ ].*|)$/ { next }
{ print; fflush() }
END { flush_program(unit == "") }
