// Base64 in the standard alphabet, padded, without line breaks, as Python's b64encode writes it. Used for the state of
// a c10d rendezvous, which torchrun's agents write in this form. Any text may come; it is read in linear time. There
// are only the two functions: no stream, no other alphabet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace launch {

std::string encode_base64(std::string_view bytes);

// nullopt if a byte is not in the alphabet, padding is missing or bits are left over.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace launch
