# breaks: a task that slept through 26 days at home stays that far ahead of the clock and starves
# in: ../scheduler/src/bpf/vtime.h
# caught by: vtime vtime_at_home_is_kept_or_bounded
s/return word - clock + behind <= .*/return (s64)(word - clock + behind) >= 0;/
