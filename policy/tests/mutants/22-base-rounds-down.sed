# breaks: each time that a task is stored it is given half a step: heavy tasks run for less
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_rounding_adds_up_to_nothing
/base += (VTIME_BASE_MASK + 1) \/ 2;/d
