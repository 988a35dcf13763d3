// Prints the table of sizes.ipp; the test BI-04 compares what two builds of this print.
#include <cstddef>
#include <cstdio>

template <class T>
void print_size(const char* name) {
    std::printf("%-60s size %zu align %zu\n", name, sizeof(T), alignof(T));
}

#define SIZE(...) print_size<__VA_ARGS__>(#__VA_ARGS__); // a template's arguments have commas
#define OFFSET(type, member) std::printf("%-60s at %zu\n", #type "::" #member, offsetof(type, member));

int main() {
#include "build/sizes.ipp"
    std::puts("end of table");
}
