/// The single steps and the rounds of selections.bin. Its format, little-endian: a header of 40
/// bytes, request headers of 32, step records of 8 + 2 · producers · k and round records of
/// 16 + 2 · block · producers · k, in each the selected positions best rank first.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace dhisparse_test {

inline constexpr std::size_t n_producers = 4;

/// One producer's selection in one step.
struct selection_access {
    std::int32_t position = 0; // the query's, whose row the step computes
    std::vector<std::int32_t> rows;
};

/// One round's selections: a block of queries at positions anchor, anchor + 1, …
struct selection_round {
    std::int32_t anchor = 0;
    std::vector<std::vector<std::vector<std::int32_t>>> rows; // [producers][block] of k
};

class selection_trace {
public:
    static selection_trace load() {
        std::ifstream file(std::filesystem::path(DHISPARSE_DATA_DIR) / "selections.bin",
                           std::ios::binary);
        selection_trace out;
        out.bytes_.assign(std::istreambuf_iterator<char>(file), {});
        if (out.bytes_.size() < 40 || std::memcmp(out.bytes_.data(), "TDSASEL1", 8) != 0 ||
            out.number<std::uint32_t>(12) != n_producers)
            throw std::runtime_error("selections.bin is missing or no selection trace");
        return out;
    }

    std::size_t n_requests() const { return number<std::uint32_t>(8); }
    std::int32_t k() const { return static_cast<std::int32_t>(number<std::uint32_t>(16)); }
    std::size_t n_steps(std::size_t request) const {
        return number<std::uint32_t>(header(request) + 8);
    }

    selection_access step(std::size_t request, std::size_t i, std::size_t producer) const {
        const auto k = static_cast<std::size_t>(this->k());
        const auto record =
            number<std::uint64_t>(header(request) + 16) + i * (8 + 2 * n_producers * k);
        selection_access out{static_cast<std::int32_t>(number<std::uint32_t>(record)), {}};
        for (std::size_t rank = 0; rank < k; ++rank)
            out.rows.push_back(number<std::uint16_t>(record + 8 + 2 * (producer * k + rank)));
        return out;
    }

    std::size_t block() const { return number<std::uint32_t>(20); }
    std::size_t n_rounds(std::size_t request) const {
        return number<std::uint32_t>(header(request) + 12);
    }
    selection_round round(std::size_t request, std::size_t i) const {
        const auto k = static_cast<std::size_t>(this->k());
        const auto record = number<std::uint64_t>(header(request) + 24) +
                            i * (16 + 2 * block() * n_producers * k);
        selection_round out{static_cast<std::int32_t>(number<std::uint32_t>(record)), {}};
        for (std::size_t producer = 0; producer < n_producers; ++producer) {
            auto& queries = out.rows.emplace_back(block());
            for (std::size_t q = 0; q < block(); ++q)
                for (std::size_t rank = 0; rank < k; ++rank)
                    queries[q].push_back(number<std::uint16_t>(
                        record + 16 + 2 * ((q * n_producers + producer) * k + rank)));
        }
        return out;
    }

private:
    static std::size_t header(std::size_t request) { return 40 + 32 * request; }
    template <class T>
    T number(std::size_t at) const {
        T out{};
        if (at + sizeof(T) > bytes_.size())
            throw std::runtime_error("selections.bin ends too early");
        std::memcpy(&out, bytes_.data() + at, sizeof(T));
        return out;
    }
    std::vector<char> bytes_;
};

} // namespace dhisparse_test
