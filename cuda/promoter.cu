// What follows a resolve that has staged rows, for each promotion policy.
#include <dhisparse/round/promoter_impl.cuh>

template struct dhisparse::promoter<dhisparse::dense, dhisparse::keep_staged_none>;
template struct dhisparse::promoter<dhisparse::dense, dhisparse::most_selected>;
template struct dhisparse::promoter<dhisparse::dense, dhisparse::anchor_first>;
