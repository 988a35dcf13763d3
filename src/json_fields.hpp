// Reads JSON objects field by field and says in one line which field is wrong. For src/ alone.
#pragma once

#include <dhisparse/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dhisparse::json_input {

using json = nlohmann::json;

/// A value as it is shown in a message: its beginning.
inline std::string shown(const json& value) {
    auto out = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (out.size() > 40) out = out.substr(0, 37) + "...";
    return out;
}

/// Throws invalid_argument in one line where the text is no JSON, or repeats a key of an object.
json parse(std::string_view text);

inline std::int64_t whole_number(const json& value, const std::string& name, std::int64_t low, std::int64_t high) {
    const bool whole = value.is_number_integer() &&
                       (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
    require(whole && value.get<std::int64_t>() >= low && value.get<std::int64_t>() <= high, name, " is ", shown(value),
            ", permitted: whole numbers from ", low, " to ", high);
    return value.get<std::int64_t>();
}

inline const json& array(const json& value, const std::string& name) {
    require(value.is_array(), name, " is ", shown(value), ", permitted: a list");
    return value;
}

/// One object. Fields that nobody asked for are refused by done().
class fields {
public:
    fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
        require(object.is_object(), where_.empty() ? "the file" : where_, " is ", shown(object), ", permitted: an object");
    }
    std::string name(std::string_view key) const { return where_.empty() ? std::string(key) : where_ + "." + std::string(key); }

    /// The field, or null where it is absent.
    const json* optional(std::string_view key) {
        asked_.push_back(key);
        const auto at = object_.find(std::string(key));
        return at == object_.end() ? nullptr : &*at;
    }
    const json& needed(std::string_view key) {
        const auto* value = optional(key);
        require(value, name(key), " is missing");
        return *value;
    }
    /// Puts a whole number that the type holds into `out`; an absent one leaves it as it is.
    template <class T>
    void number(std::string_view key, T& out) {
        if (const auto* value = optional(key)) out = in_range_of<T>(*value, key);
    }
    template <class T>
    void needed_number(std::string_view key, T& out) { out = in_range_of<T>(needed(key), key); }
    void text(std::string_view key, std::string& out) {
        const auto* value = optional(key);
        if (!value) return;
        require(value->is_string(), name(key), " is ", shown(*value), ", permitted: a text");
        out = value->get<std::string>();
    }
    void flag(std::string_view key, bool& out) {
        const auto* value = optional(key);
        if (!value) return;
        require(value->is_boolean(), name(key), " is ", shown(*value), ", permitted: true, false");
        out = value->get<bool>();
    }
    /// Throws invalid_argument naming the first field that was not asked for, and those that were.
    void done() const {
        for (const auto& [key, value] : object_.items()) {
            if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
            std::string known;
            for (const auto one : asked_) known += (known.empty() ? "" : ", ") + std::string(one);
            require(false, "unknown field ", name(shown(key)), ", permitted: ", known);
        }
    }

private:
    template <class T>
    T in_range_of(const json& value, std::string_view key) const {
        return static_cast<T>(whole_number(value, name(key), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    const json& object_;
    std::string where_;
    std::vector<std::string_view> asked_;
};

} // namespace dhisparse::json_input
