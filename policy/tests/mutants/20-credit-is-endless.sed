# breaks: a sleeper is ahead by all the time that it slept
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_sleeper_gets_no_more_than_its_credit
s/if (lag < floor || /if (/
