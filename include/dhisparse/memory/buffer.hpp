/// A run of bytes that is either owned, from a resource, or lent by the caller.
#pragma once

#include <dhisparse/memory/resource.hpp>

#include <span>
#include <utility>

namespace dhisparse {

template <memory_resource Resource>
class buffer {
public:
    buffer() = default;
    /// Owns `bytes` from the resource, or uses `lent` where it isn't empty. Throws invalid_argument
    /// where lent memory is too small or not aligned. what: its name for the message.
    buffer(Resource resource, std::int64_t bytes, std::int64_t alignment, std::span<std::byte> lent, const char* what)
        : resource_(std::move(resource)), bytes_(bytes), alignment_(alignment), owned_(lent.empty() && bytes > 0) {
        require(owned_ || bytes == 0 || static_cast<std::int64_t>(lent.size()) >= bytes, what, " memory holds ",
                lent.size(), " bytes, needed: ", bytes);
        require(reinterpret_cast<std::uintptr_t>(lent.data()) % static_cast<std::uintptr_t>(alignment) == 0, what,
                " memory is not aligned to ", alignment, " bytes");
        data_ = owned_ ? resource_.allocate(bytes, alignment) : lent.data();
    }
    buffer(buffer&& other) noexcept { swap(other); }
    buffer& operator=(buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~buffer() {
        if (owned_) resource_.deallocate(data_, bytes_, alignment_);
    }

    std::byte* data() const { return data_; }
    std::int64_t bytes() const { return bytes_; }

private:
    void swap(buffer& other) noexcept {
        std::swap(resource_, other.resource_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        std::swap(alignment_, other.alignment_);
        std::swap(owned_, other.owned_);
    }
    [[no_unique_address]] Resource resource_{};
    std::byte* data_ = nullptr;
    std::int64_t bytes_ = 0;
    std::int64_t alignment_ = 1;
    bool owned_ = false;
};

} // namespace dhisparse
