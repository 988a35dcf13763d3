// The headers say which standard they need, instead of failing on its first new word.
// expect: dhisparse needs C..20
#ifdef WRONG
#undef __cplusplus
#define __cplusplus 201703L
#endif
#include <dhisparse/core/config.hpp>
