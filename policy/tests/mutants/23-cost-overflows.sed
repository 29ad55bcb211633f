# breaks: a task that ran for days is charged by a product that no longer fits
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_cost_adds_up
s/return (ran >> 16) \* inverse + ((ran & 0xffff) \* inverse >> 16);/return ran * inverse >> 16;/
