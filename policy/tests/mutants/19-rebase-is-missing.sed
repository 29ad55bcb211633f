# breaks: a task that moves keeps its vtime, and with it the distance between two CPUs' clocks
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_move_keeps_the_lag_within_a_slice
s/vtime_with_home(new_clock + vtime_lag(word, old_clock, credit), cpu)/vtime_with_home(word, cpu)/
