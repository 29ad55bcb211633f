# breaks: a task that slept through 26 days comes back that far behind the clock
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_sleeper_gets_no_more_than_its_credit
s/ || lag > (s64)(VTIME_LAG_MAX << VTIME_HOME_BITS)//
