/// Hands out runs of bytes of a fixed region: the page map and hot indexes of each slot are one run.
#pragma once

#include <dhisparse/core/error.hpp>

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace dhisparse {

/// First fit, neighbours merged when given back. Book-keeping alone.
class metadata_region {
public:
    explicit metadata_region(std::int64_t bytes) : bytes_(bytes) {
        if (bytes > 0) free_.emplace(0, bytes);
    }

    std::int64_t bytes() const { return bytes_; }
    /// The longest run that take() can give now.
    std::int64_t largest() const {
        std::int64_t most = 0;
        for (const auto& [offset, bytes] : free_) most = bytes > most ? bytes : most;
        return most;
    }

    /// Offset of a run of that many bytes (> 0); none where no free run is as long.
    std::optional<std::int64_t> take(std::int64_t bytes) {
        for (auto at = free_.begin(); at != free_.end(); ++at) {
            if (at->second < bytes) continue;
            const auto [offset, had] = *at;
            free_.erase(at);
            if (had > bytes) free_.emplace(offset + bytes, had - bytes);
            return offset;
        }
        return std::nullopt;
    }

    /// Takes a run (> 0 bytes) back. Throws invalid_argument where it overlaps a free one or leaves the region.
    void give(std::int64_t offset, std::int64_t bytes) {
        auto next = free_.lower_bound(offset);
        const auto before = next == free_.begin() ? free_.end() : std::prev(next);
        const auto limit = next == free_.end() ? bytes_ : next->first;
        require(offset >= 0 && bytes > 0 && bytes <= limit - offset && (before == free_.end() || before->first + before->second <= offset),
                "give: the run of ", bytes, " bytes at ", offset, " is not held in a region of ", bytes_, " bytes");
        if (next != free_.end() && next->first == offset + bytes) {
            bytes += next->second;
            next = free_.erase(next);
        }
        if (before != free_.end() && before->first + before->second == offset) before->second += bytes;
        else free_.emplace(offset, bytes);
    }

private:
    std::int64_t bytes_;
    std::map<std::int64_t, std::int64_t> free_; // offset → bytes
};

} // namespace dhisparse
