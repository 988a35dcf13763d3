/// Random numbers that are the same on every machine: splitmix64.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace dhisparse_test {

inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

class random_source {
public:
    explicit random_source(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() { return mix(state_++); }
    /// In [low, high]; low where high < low.
    int between(int low, int high) {
        return high <= low ? low : low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool one_in(int n) { return between(1, n) == 1; }
    template <class T>
    T pick(std::initializer_list<T> values) {
        return values.begin()[between(0, static_cast<int>(values.size()) - 1)];
    }
    template <class Container>
    auto& pick_of(Container& values) {
        return values[static_cast<std::size_t>(between(0, static_cast<int>(values.size()) - 1))];
    }
    template <class Container>
    void shuffle(Container& values) {
        for (auto i = static_cast<int>(values.size()) - 1; i > 0; --i)
            std::swap(values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(between(0, i))]);
    }

private:
    std::uint64_t state_;
};

} // namespace dhisparse_test
