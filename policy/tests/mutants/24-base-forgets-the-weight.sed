# breaks: a task is charged at today's weight for all that it ever ran: a change of nice throws it
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_base_follows_the_run_time
s/cost = vtime_cost(ran, vtime_weight(stored))/cost = vtime_cost(ran, 20)/
