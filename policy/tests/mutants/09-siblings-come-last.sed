# breaks: the own core is not tried before the rest of the LLC
# in: steal.h
# caught by: steal steal_tries_siblings_then_llc_then_node_then_nearest
s/if (siblings > 1) {/if (siblings > 1000) {/
