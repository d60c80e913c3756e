#include "launch/core/store/will.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace launch {
namespace {

using Json = nlohmann::json;

constexpr std::size_t longest_will = 64 * 1024;  // JSON of any size would take seconds and a lot of memory

// Takes an object apart; whatever is missing or of another kind makes the whole bad.
class Reader {
 public:
  std::string text(const Json& object, const char* name) { return text(value(object, name)); }
  std::string text(const Json& value) {
    good_ = good_ && value.is_string();
    return value.is_string() ? value.get<std::string>() : "";
  }
  // Left out by older versions.
  std::string text_if_there(const Json& object, const char* name) {
    return object.is_object() && object.contains(name) ? text(object, name) : "";
  }
  const Json& list(const Json& object, const char* name) {
    const Json& found = value(object, name);
    good_ = good_ && found.is_array();
    return found.is_array() ? found : nothing_;
  }
  std::vector<std::string> texts(const Json& object, const char* name) {
    std::vector<std::string> texts;
    for (const Json& one : list(object, name)) texts.push_back(text(one));
    return texts;
  }
  bool good() const { return good_; }

 private:
  const Json& value(const Json& object, const char* name) const {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nothing_ : *found;
  }

  Json nothing_ = nullptr;
  bool good_ = true;
};

}  // namespace

std::string to_json(const Will& will) {
  if (will.empty()) return "";
  Json json = {{"words", Json::array()}, {"gone", will.gone}};
  for (const Will::Word& word : will.words)
    json["words"].push_back(
        {{"key", word.key}, {"closed", word.if_closed}, {"silent", word.if_silent}, {"unless", word.unless}});
  if (will.claim)
    json["claim"] = {{"key", will.claim->key},
                     {"holder", will.claim->holder},
                     {"begun", will.claim->begun},
                     {"undo", will.claim->undo}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Will> parse_will(std::string_view text) {
  if (text.empty()) return Will{};
  if (text.size() > longest_will) return protocol_error("a will is too long");
  const Json json = Json::parse(text, nullptr, false);
  Reader reader;
  Will will;
  for (const Json& word : reader.list(json, "words"))
    will.words.push_back({reader.text(word, "key"), reader.text(word, "closed"), reader.text(word, "silent"),
                          reader.text_if_there(word, "unless")});
  will.gone = reader.texts(json, "gone");
  if (reader.good() && json.contains("claim")) {
    const Json& claim = json["claim"];
    will.claim = Will::Claim{reader.text(claim, "key"), reader.text(claim, "holder"), reader.text(claim, "begun"),
                             reader.texts(claim, "undo")};
  }
  if (!reader.good()) return protocol_error("this is no will");
  return will;
}

std::vector<Request> deeds_of(const Will& will, bool silent, std::string_view claimed, bool begun) {
  std::vector<Request> deeds;
  if (will.claim && claimed != will.claim->holder) return deeds;
  if (will.claim && !will.claim->begun.empty() && !begun) {
    for (const std::string& key : will.claim->undo) deeds.emplace_back(DeleteKeyRequest{key});
    deeds.emplace_back(DeleteKeyRequest{will.claim->key});
    return deeds;
  }
  for (const Will::Word& word : will.words)
    deeds.emplace_back(CompareSetRequest{word.key, "", silent ? word.if_silent : word.if_closed});
  for (const std::string& key : will.gone) deeds.emplace_back(CompareSetRequest{key, "", "gone"});
  return deeds;
}

std::string claimant_of(const Will& will) {
  return will.claim ? will.claim->key + '\0' + will.claim->holder : std::string();
}

}  // namespace launch
