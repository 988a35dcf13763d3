// Prints the table of sizes.ipp; the test BI-04 compares what two builds of this print.
#include <cstddef>
#include <cstdio>

#define SIZE(type) std::printf("%-50s size %zu align %zu\n", #type, sizeof(type), alignof(type));
#define OFFSET(type, member) std::printf("%-50s at %zu\n", #type "::" #member, offsetof(type, member));

int main() {
#include "build/sizes.ipp"
    std::puts("end of table");
}
