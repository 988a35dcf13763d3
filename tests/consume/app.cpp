// A user's program: includes some headers, calls the compiled library, and the CUDA one if asked to.
#include <dhisparse/core/config.hpp>
#include <dhisparse/memory/device.hpp>

#include <cstdio>
#include <cstring>
#include <string>

int main() {
    std::printf("headers %s, package %s, library %s\n", DHISPARSE_VERSION, PACKAGE_VERSION,
                dhisparse::version().c_str());
#ifdef WITH_CUDA
    std::printf("CUDA devices: %d\n", dhisparse::device_count());
#endif
    const bool same = dhisparse::version() == "dhisparse " DHISPARSE_VERSION;
    return same && std::strcmp(DHISPARSE_VERSION, PACKAGE_VERSION) == 0 ? 0 : 1;
}
